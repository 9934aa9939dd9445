import type { Mail, Mailbox, MailSummary } from './mail-store.ts'
import { script, style } from './assets.ts'

export type View = 'html' | 'text' | 'headers' | 'source'

const views: Record<View, string> = { html: 'HTML', text: 'Text', headers: 'Headers', source: 'Source' }

/** HTML returned by `html`. Its values are already escaped, so `html` inserts it unchanged. */
interface Markup {
  readonly markup: string
}

type Value = string | number | Markup | readonly Markup[] | undefined

function html(parts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  const rendered = parts.map((part, index) => part + render(values[index]))
  return { markup: rendered.join('') }
}

function render(value: Value): string {
  if (value === undefined) return ''
  if (typeof value === 'object') return 'markup' in value ? value.markup : value.map(render).join('')
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Renders the page: the list of mails and the selected mail. */
export function inboxPage(options: {
  mails: readonly MailSummary[]
  selected: Mail | undefined
  view: View | undefined
  to: string | undefined
}): string {
  const { mails, selected, to } = options
  const title = selected ? selected.subject : 'Inbox'
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Rapport</title>
        <link rel="icon" href="data:," />
        <style>${{ markup: style }}</style>
      </head>
      <body>
        <header>
          <h1><a href="/">Inbox</a></h1>
          <form>
            <input name="to" type="search" placeholder="Filter by recipient" aria-label="Recipient" value="${to}" />
          </form>
          <button id="clear" type="button">Delete all</button>
        </header>
        <nav id="list" aria-label="Mails">
          ${
            mails.length > 0
              ? mails.map((mail) => listItem(mail, { to, isSelected: mail.id === selected?.id }))
              : html`<p class="empty">No mail${to ? ` to ${to}` : ''} yet.</p>`
          }
        </nav>
        <main>${selected ? mailPane(selected, options) : html`<p class="empty">Select a mail to read it.</p>`}</main>
        <script>${{ markup: script }}</script>
      </body>
    </html>`.markup
}

function listItem(mail: MailSummary, options: { to: string | undefined; isSelected: boolean }): Markup {
  return html`<a href="${address({ mail: mail.id, to: options.to })}" ${options.isSelected ? html`aria-current="true"` : ''}>
    <b>${mail.subject || '(no subject)'}</b>
    <time datetime="${mail.receivedAt}">${localTime(mail.receivedAt).slice(11)}</time>
    <span>${mail.deliveredTo.join(', ')}</span>
  </a>`
}

function mailPane(mail: Mail, options: { view: View | undefined; to: string | undefined }): Markup {
  const view = options.view ?? (mail.html === null ? 'text' : 'html')
  const tabs = (Object.keys(views) as View[]).map(
    (name) =>
      html`<a
        href="${address({ mail: mail.id, view: name, to: options.to })}"
        ${name === view ? html`aria-current="true"` : ''}
        >${views[name]}</a
      >`,
  )
  return html`<section>
      <h2>${mail.subject || '(no subject)'}</h2>
      <dl>
        <dt>From</dt>
        <dd>${mail.from ? mailbox(mail.from) : '(none)'}</dd>
        <dt>To</dt>
        <dd>${mail.to.map(mailbox).join(', ')}</dd>
        <dt>Received</dt>
        <dd><time datetime="${mail.receivedAt}">${localTime(mail.receivedAt)}</time></dd>
        ${mail.attachments.length > 0 ? html`<dt>Attachments</dt><dd>${mail.attachments.map(attachmentLink(mail.id))}</dd>` : ''}
      </dl>
      <div class="tabs">${tabs}</div>
    </section>
    ${view === 'headers' ? headerTable(mail) : bodyFrame(mail, view)}`
}

/** The content of the mail is in a sandboxed frame without scripts. Its links open in a new tab. */
function bodyFrame(mail: Mail, view: 'html' | 'text' | 'source'): Markup {
  return html`<iframe
    title="${views[view]} of the mail"
    src="/email/${mail.id}/${view}"
    sandbox="allow-popups allow-popups-to-escape-sandbox"
    ${view === 'html' ? html`class="paper"` : ''}
  ></iframe>`
}

function headerTable(mail: Mail): Markup {
  return html`<div class="scroll">
    <table>
      ${mail.headers.map(
        ({ name, value }) =>
          html`<tr>
            <th>${name}</th>
            <td>${value}</td>
          </tr>`,
      )}
    </table>
  </div>`
}

function attachmentLink(mailId: string) {
  return (attachment: Mail['attachments'][number], index: number) =>
    html`<a href="/email/${mailId}/attachments/${index}">${attachment.filename ?? attachment.mimeType}</a> `
}

/** Formats a time in the local time zone: "2026-11-21 10:17:56". */
function localTime(timestamp: string): string {
  return new Date(timestamp).toLocaleString('sv-SE')
}

function mailbox({ name, address }: Mailbox): string {
  return name ? `${name} <${address}>` : address
}

function address(parameters: Record<string, string | undefined>): string {
  const definedParameters = Object.entries(parameters).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return `/?${new URLSearchParams(definedParameters).toString()}`
}

/** Prepares the HTML of a mail for the frame: links open outside the frame, and attached images are embedded. */
export function mailDocument(mail: Mail): string {
  const related = mail.attachments.filter((attachment) => attachment.contentId)
  const withPictures = related.reduce((text, { contentId = '', mimeType, content }) => {
    const data = `data:${mimeType};base64,${Buffer.from(content as ArrayBuffer).toString('base64')}`
    return text.replaceAll(`cid:${contentId.replace(/^<|>$/g, '')}`, data)
  }, mail.html ?? '')
  const base = '<base target="_blank">'
  const head = /<head[^>]*>/i
  return head.test(withPictures) ? withPictures.replace(head, (tag) => tag + base) : base + withPictures
}

/** Renders plain text as a page in which URLs are links. */
export function textDocument(text: string): string {
  const parts = text.split(/(https?:\/\/[^\s<>"]+)/)
  const linked = parts.map((part, index) => (index % 2 === 1 ? html`<a href="${part}">${part}</a>` : html`${part}`))
  return html`<!doctype html><meta charset="utf-8" /><meta name="color-scheme" content="light dark" /><base target="_blank" />
<pre style="white-space:pre-wrap;overflow-wrap:anywhere">${linked}</pre>`.markup
}
