import { expect, test } from 'vitest'
import { toChart } from './chart.ts'
import { type Figure, isMet, ratioOf, takeTurns } from './figures.ts'
import { type Report, toMarkdown } from './report.ts'

const creation: Figure = {
  name: 'POST /contacts <fast>',
  unit: 'requests/s',
  values: [50, 66, 56],
  beside: { name: 'bare INSERT', values: [100, 110, 80] },
  target: { atLeast: 0.65 },
}
const memory: Figure = { name: 'peak memory', unit: 'MB', values: [120], target: { atMost: 250 } }
const report: Report = {
  startedAt: '2026-11-21T06:35:49.123Z',
  machine: { processors: '2 × some', memoryGb: 4, node: 'v26' },
  options: { rounds: 3, quick: false, minutes: 10 },
  benches: [
    { name: 'create', figures: [creation, memory] },
    { name: 'read', figures: [], failure: 'Nothing answered' },
  ],
}

test('a ratio is the median of those of each round, not that of the medians', () => {
  expect(ratioOf(creation)).toEqual({ median: 0.6, low: 0.5, high: 0.7 })
})

test('a target is met or missed by the ratio, and by the figure itself where there is none', () => {
  expect(isMet(creation)).toBe(false)
  expect(isMet({ ...creation, target: { atMost: 0.6 } })).toBe(true)
  expect(isMet(memory)).toBe(true)
  expect(isMet({ ...memory, values: [251] })).toBe(false)
})

test('the table has each figure with its spread, its baseline, its target and whether it is met', () => {
  const table = toMarkdown(report)
  expect(table).toContain(
    '| POST /contacts <fast> | 56 (50–66) requests/s | bare INSERT: 100 (80–110) | 0.60 (0.50–0.70) | at least 0.65 | **missed** |',
  )
  expect(table).toContain('| peak memory | 120 MB |  |  | at most 250 | met |')
  expect(table).toContain('It failed: Nothing answered')
})

test('the chart has a bar for each rate that has a target, in length as the rates, and is well-formed', () => {
  const chart = toChart(report)
  expect(chart).toContain('POST /contacts &lt;fast&gt;')
  expect(chart).not.toContain('peak memory')
  const lengthOf = (kind: string) =>
    Number(new RegExp(`class="${kind}"[^>]*width="(\\d{2,})" height="16"`).exec(chart)?.[1])
  expect(lengthOf('ours') / lengthOf('beside')).toBeCloseTo(0.56, 2)
})

test('sides take turns, every other round backwards, and the warm-up does not count', async () => {
  const turns: string[] = []
  const side = (name: string) => async () => turns.push(name)
  const measured = await takeTurns({ rounds: 2, say: () => {} }, { ours: side('ours'), bare: side('bare') })
  expect(turns).toEqual(['bare', 'ours', 'ours', 'bare', 'bare', 'ours'])
  expect(measured).toEqual({ ours: [3, 6], bare: [4, 5] })
})
