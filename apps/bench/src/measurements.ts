/** The results of benches: figures with one value per round and, usually, a baseline measured in the same rounds. */

export interface Figure {
  /** The measured work, as shown in the table. */
  name: string
  unit: string
  /** One per round. */
  values: number[]
  baseline?: { name: string; values: number[] }
  /** Applies to the ratio to the baseline or, without a baseline, to the value. */
  target?: Target
  /** Shown after the name. */
  note?: string
}

export type Target = { atLeast: number } | { atMost: number }

export interface Spread {
  median: number
  low: number
  high: number
}

export interface Options {
  rounds: number
  /** A short run with little data, which only shows that the bench works. */
  quick: boolean
  /** The duration of the soak test. */
  minutes: number
  /** Prints progress. */
  log: (line: string) => void
}

export interface Bench {
  about: string
  /** Measures the work and its baselines. Opens and closes everything that it needs. */
  measure(options: Options): Promise<Figure[]>
}

export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? Number.NaN
}

export const median = (values: readonly number[]) => quantile(values, 0.5)

export function getSpread(values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) }
}

/** Compares value and baseline per round, as both were measured under the same conditions. */
export function getRatio({ values, baseline }: Figure): Spread | undefined {
  const ratios = values.map((value, round) => value / (baseline?.values[round] ?? Number.NaN))
  return ratios.every(Number.isFinite) ? getSpread(ratios) : undefined
}

export function isMet(figure: Figure): boolean | undefined {
  const { target } = figure
  if (target === undefined) return undefined
  const measured = (getRatio(figure) ?? getSpread(figure.values)).median
  return 'atLeast' in target ? measured >= target.atLeast : measured <= target.atMost
}

/**
 * Measures each side once per round, in alternating order, so that no side always runs after the same other side. The
 * warm-up round before the first is not counted.
 */
export async function measureRounds<Side extends string>(
  { rounds, log }: Pick<Options, 'rounds' | 'log'>,
  sides: Record<Side, () => Promise<number>>,
  { warmUp = true } = {},
): Promise<Record<Side, number[]>> {
  const names = Object.keys(sides) as Side[]
  const measured = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Side, number[]>
  for (let round = warmUp ? 0 : 1; round <= rounds; round += 1) {
    const values = new Map<Side, number>()
    for (const name of round % 2 ? names : names.toReversed()) values.set(name, await sides[name]())
    log(
      `${round === 0 ? 'warm-up' : `round ${round}`}: ${names.map((name) => `${name} ${formatNumber(values.get(name))}`).join(', ')}`,
    )
    if (round > 0) for (const [name, value] of values) measured[name].push(value)
  }
  return measured
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** Formats with three significant digits, as the measurements are not more precise. */
export function formatNumber(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '?'
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toLocaleString('en', { maximumFractionDigits: Math.min(digits, 2) })
}
