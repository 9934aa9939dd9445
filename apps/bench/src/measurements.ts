/** What a bench measures: figures, each of several rounds, and where there is one beside its baseline of the same rounds. */

export interface Figure {
  /** What was done, as a reader of the table would say it. */
  name: string
  unit: string
  /** One for each round. */
  values: number[]
  beside?: { name: string; values: number[] }
  /** Of the ratio to what it is beside, else of the figure itself. */
  target?: Target
  /** What is needed to read it. */
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
  /** Small and short: shows that the bench works, and no more. */
  quick: boolean
  /** Of the soak. */
  minutes: number
  /** Tells how it goes. */
  say: (line: string) => void
}

export interface Bench {
  about: string
  /** Opens all that it needs, closes it again, and takes turns with its baselines. */
  measure(options: Options): Promise<Figure[]>
}

export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? Number.NaN
}

export const median = (values: readonly number[]) => quantile(values, 0.5)

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) }
}

/** Of each round's two sides, which had the same weather. */
export function ratioOf({ values, beside }: Figure): Spread | undefined {
  return beside && spreadOf(values.map((value, round) => value / (beside.values[round] ?? Number.NaN)))
}

export function isMet(figure: Figure): boolean | undefined {
  const { target } = figure
  if (target === undefined) return undefined
  const measured = (ratioOf(figure) ?? spreadOf(figure.values)).median
  return 'atLeast' in target ? measured >= target.atLeast : measured <= target.atMost
}

/**
 * Measures each side once in each round. Every other round goes backwards, so that nobody is always the one who comes
 * after a certain other. A round before the first warms up and does not count.
 */
export async function takeTurns<Side extends string>(
  { rounds, say }: Pick<Options, 'rounds' | 'say'>,
  sides: Record<Side, () => Promise<number>>,
  { warmUp = true } = {},
): Promise<Record<Side, number[]>> {
  const names = Object.keys(sides) as Side[]
  const measured = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Side, number[]>
  for (let round = warmUp ? 0 : 1; round <= rounds; round += 1) {
    const values = new Map<Side, number>()
    for (const name of round % 2 ? names : names.toReversed()) values.set(name, await sides[name]())
    say(
      `${round === 0 ? 'warm-up' : `round ${round}`}: ${names.map((name) => `${name} ${show(values.get(name))}`).join(', ')}`,
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

/** Three digits are as much as any of this is good for. */
export function show(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '?'
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toLocaleString('en', { maximumFractionDigits: Math.min(digits, 2) })
}
