import { expect, test } from 'vitest'
import { toChart } from './chart.ts'
import { type Figure, isMet, getRatio, measureRounds } from './measurements.ts'
import { type Report, toMarkdown } from './report.ts'

const creation: Figure = {
  name: 'POST /contacts <fast>',
  unit: 'requests/s',
  values: [50, 66, 56],
  baseline: { name: 'bare INSERT', values: [100, 110, 80] },
  target: { atLeast: 0.65 },
}
const memory: Figure = { name: 'peak memory', unit: 'MB', values: [120], target: { atMost: 250 } }
const report: Report = {
  startedAt: '2026-11-21T06:35:49.123Z',
  machine: { processors: '2 × some', memoryGb: 4, node: 'v26' },
  options: { rounds: 3, quick: false, minutes: 10 },
  benches: [
    { name: 'create', figures: [creation, memory] },
    { name: 'read', figures: [], failure: 'No response' },
  ],
}

test('the ratio is the median of the ratios per round, not the ratio of the medians', () => {
  expect(getRatio(creation)).toEqual({ median: 0.6, low: 0.5, high: 0.7 })
})

test('a target applies to the ratio or, without a baseline, to the value', () => {
  expect(isMet(creation)).toBe(false)
  expect(isMet({ ...creation, target: { atMost: 0.6 } })).toBe(true)
  expect(isMet(memory)).toBe(true)
  expect(isMet({ ...memory, values: [251] })).toBe(false)
})

test('the table shows each figure with spread, baseline, ratio, target and result', () => {
  const table = toMarkdown(report)
  expect(table).toContain(
    '| POST /contacts <fast> | 56 (50–66) requests/s | bare INSERT: 100 (80–110) | 0.60 (0.50–0.70) | at least 0.65 | **missed** |',
  )
  expect(table).toContain('| peak memory | 120 MB |  |  | at most 250 | met |')
  expect(table).toContain('Failed: No response')
})

test('the chart has a proportional bar for each rate with a target, and escapes names', () => {
  const chart = toChart(report)
  expect(chart).toContain('POST /contacts &lt;fast&gt;')
  expect(chart).not.toContain('peak memory')
  const lengthOf = (kind: string) =>
    Number(new RegExp(`class="${kind}"[^>]*width="(\\d{2,})" height="16"`).exec(chart)?.[1])
  expect(lengthOf('ours') / lengthOf('baseline')).toBeCloseTo(0.56, 2)
})

test('sides are measured in alternating order, and the warm-up is not counted', async () => {
  const order: string[] = []
  const side = (name: string) => async () => order.push(name)
  const measured = await measureRounds({ rounds: 2, log: () => {} }, { ours: side('ours'), bare: side('bare') })
  expect(order).toEqual(['bare', 'ours', 'ours', 'bare', 'bare', 'ours'])
  expect(measured).toEqual({ ours: [3, 6], bare: [4, 5] })
})
