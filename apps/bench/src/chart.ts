/** Draws a bar chart that shows each rate above its baseline. */
import { type Figure, getRatio, formatNumber, getSpread } from './measurements.ts'
import type { Report } from './report.ts'

const [width, margin, top, rowHeight] = [760, 16, 56, 74]
/** Length of the longest bar; the rest of the width is for its label. */
const longest = 400

const style = `
  text { font: 14px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
  .name { font-weight: 600 }
  .faint { fill: #59636e }
  .ours { fill: #2563eb }
  .baseline { fill: #c3cad2 }
  .target { stroke: #b42318; stroke-width: 2; stroke-dasharray: 3 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .faint { fill: #9198a1 }
    .ours { fill: #5b9dff }
    .baseline { fill: #4a525b }
    .target { stroke: #ff9a8f }
  }`

/** Returns an SVG, with a light and a dark mode, of all rates that have a target. */
export function toChart({ benches }: Report): string {
  const figures = benches
    .flatMap(({ figures }) => figures)
    .filter(({ unit, baseline, target }) => baseline && target && 'atLeast' in target && unit.endsWith('/s'))
  const height = top + figures.length * rowHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Rates of Rapport and their baselines">
<style>${style}
</style>
<rect class="ours" x="${margin}" y="16" width="12" height="12"/><text x="${margin + 20}" y="27">Rapport</text>
<rect class="baseline" x="116" y="16" width="12" height="12"/><text x="136" y="27">baseline, measured in the same rounds</text>
<line class="target" x1="382" y1="13" x2="382" y2="31"/><text x="392" y="27">target</text>
${figures.map((figure, index) => toRow(figure, top + index * rowHeight)).join('\n')}
</svg>
`
}

function toRow(figure: Figure, y: number): string {
  const { name, unit, values, baseline, target } = figure
  const [ours, theirs] = [getSpread(values).median, getSpread(baseline?.values ?? []).median]
  const lengthOf = (value: number) => Math.round((value / Math.max(ours, theirs)) * longest)
  const bar = (kind: string, value: number, at: number) =>
    `<rect class="${kind}" x="${margin}" y="${at}" width="${lengthOf(value)}" height="16" rx="2"/>`
  const label = (text: string, after: number, at: number) =>
    `<text class="faint" x="${after + 8}" y="${at + 13}">${escape(text)}</text>`
  const targetX = target && 'atLeast' in target ? margin + lengthOf(theirs * target.atLeast) : margin
  const [end, theirEnd] = [margin + lengthOf(ours), margin + lengthOf(theirs)]
  return [
    `<text class="name" x="${margin}" y="${y + 14}">${escape(name)}</text>`,
    `<text class="name" x="${width - margin}" y="${y + 14}" text-anchor="end">${getRatio(figure)?.median.toFixed(2)}</text>`,
    bar('ours', ours, y + 22),
    label(`${formatNumber(ours)} ${unit}`, Math.max(end, targetX), y + 22),
    bar('baseline', theirs, y + 40),
    label(`${formatNumber(theirs)}, ${baseline?.name}`, theirEnd, y + 40),
    `<line class="target" x1="${targetX}" y1="${y + 19}" x2="${targetX}" y2="${y + 41}"/>`,
  ].join('\n')
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escape = (text: string) => text.replace(/[&<>"]/g, (sign) => entities[sign] ?? sign)
