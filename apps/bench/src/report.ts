/** The report of one run, and its tables in Markdown. */
import { type Figure, isMet, getRatio, formatNumber, type Spread, getSpread } from './measurements.ts'

export interface Report {
  startedAt: string
  machine: { processors: string; memoryGb: number; node: string }
  options: { rounds: number; quick: boolean; minutes: number }
  benches: { name: string; figures: Figure[]; failure?: string }[]
}

export function toMarkdown({ startedAt, machine, options, benches }: Report): string {
  const tables = benches.map(({ name, figures, failure }) => {
    const text = failure === undefined ? toTable(figures) : `Failed: ${failure}`
    return `## ${name}\n\n${text}\n`
  })
  const { processors, memoryGb, node } = machine
  return [
    '# Benchmark results\n',
    `${startedAt}, ${processors}, ${memoryGb} GB, Node ${node}, ${options.rounds} rounds. Values are medians, with the`,
    'lowest and highest round in brackets. Ratios compare value and baseline of the same round.\n',
    ...(options.quick ? ['**Quick run: it only shows that the benches work. The numbers are not meaningful.**\n'] : []),
    ...tables,
  ].join('\n')
}

function toTable(figures: Figure[]): string {
  const rows = figures.map((figure) => [
    figure.note === undefined ? figure.name : `${figure.name} (${figure.note})`,
    `${formatSpread(getSpread(figure.values))} ${figure.unit}`.trim(),
    figure.baseline ? `${figure.baseline.name}: ${formatSpread(getSpread(figure.baseline.values))}` : '',
    ...checkTarget(figure),
  ])
  const head = ['work', 'measured', 'baseline', 'ratio', 'target', '']
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function checkTarget(figure: Figure): [ratio: string, target: string, verdict: string] {
  const { target } = figure
  const ratio = getRatio(figure)
  const targetText = target && ('atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`)
  const met = isMet(figure)
  return [
    ratio ? formatSpread(ratio, toRatio) : '',
    targetText ?? '',
    met === undefined ? '' : met ? 'met' : '**missed**',
  ]
}

const toRatio = (value: number) => value.toFixed(2)

function formatSpread({ median, low, high }: Spread, format: (value: number) => string = formatNumber): string {
  return low === high ? format(median) : `${format(median)} (${format(low)}–${format(high)})`
}
