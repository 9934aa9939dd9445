/** The chart for people who look first and read later: each rate above that of its baseline. */
import { type Figure, ratioOf, show, spreadOf } from './figures.ts'
import type { Report } from './report.ts'

const [width, margin, top, rowHeight] = [760, 16, 56, 74]
/** What is left to the right of the longest bar is for its label. */
const longest = 400

const style = `
  text { font: 14px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
  .name { font-weight: 600 }
  .faint { fill: #59636e }
  .ours { fill: #2563eb }
  .beside { fill: #c3cad2 }
  .target { stroke: #b42318; stroke-width: 2; stroke-dasharray: 3 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .faint { fill: #9198a1 }
    .ours { fill: #5b9dff }
    .beside { fill: #4a525b }
    .target { stroke: #ff9a8f }
  }`

/** Of rates with a target, which are the better the longer their bars; as an SVG that follows the reader's light or dark. */
export function toChart({ benches }: Report): string {
  const figures = benches
    .flatMap(({ figures }) => figures)
    .filter(({ unit, beside, target }) => beside && target && 'atLeast' in target && unit.endsWith('/s'))
  const height = top + figures.length * rowHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Rates of Rapport beside those of their baselines">
<style>${style}
</style>
<rect class="ours" x="${margin}" y="16" width="12" height="12"/><text x="${margin + 20}" y="27">Rapport</text>
<rect class="beside" x="116" y="16" width="12" height="12"/><text x="136" y="27">its baseline in the same rounds</text>
<line class="target" x1="382" y1="13" x2="382" y2="31"/><text x="392" y="27">target</text>
${figures.map((figure, index) => toRow(figure, top + index * rowHeight)).join('\n')}
</svg>
`
}

function toRow(figure: Figure, y: number): string {
  const { name, unit, values, beside, target } = figure
  const [ours, theirs] = [spreadOf(values).median, spreadOf(beside?.values ?? []).median]
  const lengthOf = (value: number) => Math.round((value / Math.max(ours, theirs)) * longest)
  const bar = (kind: string, value: number, at: number) =>
    `<rect class="${kind}" x="${margin}" y="${at}" width="${lengthOf(value)}" height="16" rx="2"/>`
  const label = (text: string, after: number, at: number) =>
    `<text class="faint" x="${after + 8}" y="${at + 13}">${escape(text)}</text>`
  const aim = target && 'atLeast' in target ? margin + lengthOf(theirs * target.atLeast) : margin
  const [end, theirEnd] = [margin + lengthOf(ours), margin + lengthOf(theirs)]
  return [
    `<text class="name" x="${margin}" y="${y + 14}">${escape(name)}</text>`,
    `<text class="name" x="${width - margin}" y="${y + 14}" text-anchor="end">${ratioOf(figure)?.median.toFixed(2)}</text>`,
    bar('ours', ours, y + 22),
    label(`${show(ours)} ${unit}`, Math.max(end, aim), y + 22),
    bar('beside', theirs, y + 40),
    label(`${show(theirs)}, ${beside?.name}`, theirEnd, y + 40),
    `<line class="target" x1="${aim}" y1="${y + 19}" x2="${aim}" y2="${y + 41}"/>`,
  ].join('\n')
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escape = (text: string) => text.replace(/[&<>"]/g, (sign) => entities[sign] ?? sign)
