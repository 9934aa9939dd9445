/** Inline styles of the inbox page. */
export const style = `
:root { color-scheme: light dark; --line: light-dark(#ddd, #3a3a3a); --muted: light-dark(#666, #aaa);
  --selected: light-dark(#e8f0fe, #22324d); --background: light-dark(#fff, #1b1b1b); }
* { box-sizing: border-box; }
body { margin: 0; height: 100vh; display: grid; grid: auto minmax(0, 1fr) / minmax(14rem, 24rem) minmax(0, 1fr);
  font: 15px/1.45 system-ui, sans-serif; background: var(--background); }
a { color: inherit; }
header { grid-column: 1 / -1; display: flex; gap: 1rem; align-items: center; padding: .6rem 1rem;
  border-bottom: 1px solid var(--line); }
h1 { font-size: 1.1rem; margin: 0; } h1 a { text-decoration: none; }
header form { flex: 1; } input { width: min(100%, 22rem); } input, button { font: inherit; padding: .25rem .6rem; }
nav { overflow: auto; border-right: 1px solid var(--line); }
nav a { display: grid; grid-template-columns: minmax(0, 1fr) auto; column-gap: .5rem; padding: .6rem 1rem;
  border-bottom: 1px solid var(--line); text-decoration: none; }
nav b, nav span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
nav time, nav span, dt, .empty { color: var(--muted); } nav a[aria-current] { background: var(--selected); }
main { display: flex; flex-direction: column; min-height: 0; }
section { padding: 1rem 1rem 0; } h2 { margin: 0 0 .6rem; font-size: 1.25rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .15rem 1rem; margin: 0 0 .8rem; } dd { margin: 0; overflow-wrap: anywhere; }
.tabs { display: flex; gap: .3rem; border-bottom: 1px solid var(--line); margin: 0 -1rem; padding: 0 1rem; }
.tabs a { padding: .35rem .8rem; text-decoration: none; border-bottom: 2px solid transparent; }
.tabs a[aria-current] { border-color: currentColor; font-weight: 600; }
iframe { flex: 1; min-height: 0; width: 100%; border: 0; } .paper { background: #fff; color-scheme: light; }
.scroll { overflow: auto; padding: .6rem 1rem; } th { text-align: left; vertical-align: top; padding-right: 1rem; white-space: nowrap; }
td { overflow-wrap: anywhere; } .empty { padding: 1rem; margin: 0; }
@media (max-width: 45rem) { body { grid: auto minmax(8rem, 35vh) minmax(0, 1fr) / 1fr; } nav { border-right: 0; border-bottom: 1px solid var(--line); } }
`

/** Inline script of the inbox page: refreshes the list when mails arrive, and deletes all mails. */
export const script = `
let refreshTimer
// A campaign causes hundreds of changes: refresh only a few times per second.
const changes = new EventSource('/changes')
changes.onmessage = () => { refreshTimer ??= setTimeout(refresh, 300) }
// Mails may have arrived before the page was connected.
changes.onopen = changes.onmessage
async function refresh() {
  refreshTimer = undefined
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html')
  const list = document.querySelector('#list')
  // A click needs its element until the button is released.
  if (list.matches(':active')) return changes.onmessage()
  const focused = list.contains(document.activeElement) && document.activeElement.getAttribute('href')
  list.replaceChildren(...page.querySelector('#list').childNodes)
  if (focused) list.querySelector('[href="' + CSS.escape(focused) + '"]')?.focus()
}
document.querySelector('#clear').onclick = async () => {
  if (!confirm('Delete all mails?')) return
  await fetch('/email', { method: 'DELETE' })
  location.assign('/')
}
`
