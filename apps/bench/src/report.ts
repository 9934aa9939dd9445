/** All that came of one run, and the table that people read. */
import { type Figure, isMet, ratioOf, show as showShort, type Spread, spreadOf } from './figures.ts'

export interface Report {
  startedAt: string
  machine: { processors: string; memoryGb: number; node: string }
  options: { rounds: number; quick: boolean; minutes: number }
  benches: { name: string; figures: Figure[]; failure?: string }[]
}

export function toMarkdown({ startedAt, machine, options, benches }: Report): string {
  const tables = benches.map(({ name, figures, failure }) => {
    const text = failure === undefined ? toTable(figures) : `It failed: ${failure}`
    return `## ${name}\n\n${text}\n`
  })
  const { processors, memoryGb, node } = machine
  return [
    '# What Rapport measured\n',
    `${startedAt}, ${processors}, ${memoryGb} GB, Node ${node}, ${options.rounds} rounds. Medians, and in brackets the`,
    'lowest and the highest of the rounds. A ratio is of the two sides of a round.\n',
    ...(options.quick ? ['**A quick run: it shows that the benches work, and says nothing of speed.**\n'] : []),
    ...tables,
  ].join('\n')
}

function toTable(figures: Figure[]): string {
  const rows = figures.map((figure) => [
    figure.note === undefined ? figure.name : `${figure.name} (${figure.note})`,
    `${showSpread(spreadOf(figure.values))} ${figure.unit}`.trim(),
    figure.beside ? `${figure.beside.name}: ${showSpread(spreadOf(figure.beside.values))}` : '',
    ...judge(figure),
  ])
  const head = ['work', 'measured', 'beside', 'ratio', 'target', '']
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function judge(figure: Figure): [ratio: string, target: string, verdict: string] {
  const { target } = figure
  const ratio = ratioOf(figure)
  const demand = target && ('atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`)
  const met = isMet(figure)
  return [ratio ? showSpread(ratio, toRatio) : '', demand ?? '', met === undefined ? '' : met ? 'met' : '**missed**']
}

const toRatio = (value: number) => value.toFixed(2)

function showSpread({ median, low, high }: Spread, show: (value: number) => string = showShort): string {
  return low === high ? show(median) : `${show(median)} (${show(low)}–${show(high)})`
}
