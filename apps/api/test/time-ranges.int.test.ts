/** `createdAfter` and `createdBefore` of every listing. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRuns, isFullRun } from '@rapport/testing/runs.ts'
import { beforeAll, expect, test } from 'vitest'
import { createParents, fillListings, listings, pathOf, waitForFeed } from './listings.ts'
import { expectError, startTestApi } from './testing.ts'

interface Item {
  createdAt: string
  /** Instead of `createdAt` in listings of events. */
  timestamp: string
}
interface Page {
  data: Item[]
  nextCursor: string | null
}

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const fixture = useForFile(() => createParents(api, workspace))
beforeAll(async () => {
  await fillListings(fixture, 3)
  await waitForFeed(api)
})

const getPage = (template: string, query: string) =>
  api.call<Page>('GET', `${pathOf(template, fixture)}?${query}`, { key: workspace.token })
const timeOf = (item: Item) => item.createdAt ?? item.timestamp
const later = (timestamp: string, ms: number) => new Date(Date.parse(timestamp) + ms).toISOString()
const dateOf = (timestamp: string) => timestamp.slice(0, 10)
const dayMs = 86_400_000

/** Reads all pages. */
async function readAll(template: string, query: string, limit = 100): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await getPage(template, `${query}&limit=${limit}${cursor}`)
    expect([template, query, status]).toEqual([template, query, 200])
    items.push(...body.data)
    if (!body.nextCursor) return items
    cursor = `&cursor=${body.nextCursor}`
  }
}

test.each(listings)('%s returns exactly the records of a time range', async (template) => {
  const all = await readAll(template, 'sort=createdAt')
  const times = all.map(timeOf)
  // Several pages for the longest ranges.
  const limit = Math.max(2, Math.ceil(all.length / countRuns({ gate: 2, full: 5 })))
  const [first = '', middle = '', last = ''] = [times[0], times[Math.floor(times.length / 2)], times.at(-1)]
  expect(Date.parse(first)).not.toBeNaN()
  const ranges: [after: string | undefined, before: string | undefined][] = [
    [middle, undefined],
    [undefined, middle],
    [middle, later(middle, 1)],
    [first, last],
  ]
  const others: typeof ranges = [
    [later(last, 1), undefined],
    [undefined, first],
    [dateOf(first), undefined],
    [dateOf(first), later(last, dayMs).slice(0, 10)],
    [undefined, dateOf(first)],
    ['0001-01-01', '9999-12-31'],
    // In another time zone, and an empty range.
    [middle.replace('Z', '%2B00:00'), undefined],
    [last, first],
  ]
  // One condition compares the times of all listings.
  if (isFullRun || template === '/contacts' || template === '/events') ranges.push(...others)
  for (const [after, before] of ranges) {
    const expected = all.filter((item) => {
      const time = Date.parse(timeOf(item))
      const isAfter = after === undefined || time >= Date.parse(after.replace('%2B', '+'))
      return isAfter && (before === undefined || time < Date.parse(before))
    })
    const query = [after && `createdAfter=${after}`, before && `createdBefore=${before}`].filter(Boolean).join('&')
    expect([query, await readAll(template, `sort=createdAt&${query}`, limit)]).toEqual([query, expected])
    expect([query, await readAll(template, `sort=-createdAt&${query}`, limit)]).toEqual([query, expected.toReversed()])
  }
})

const invalidMoments = [
  'now',
  '20260101',
  '2026-13-01',
  '2026-02-30',
  '2026-02-30T00:00:00Z',
  '2026-1-1',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00%2B99:99',
  '-2026-01-01',
  '0000-01-01',
  '0001-01-01T00:00:00%2B14:00',
  '9999-12-31T23:59:59-14:00',
  '10000-01-01',
  '1700000000',
  '%00',
  '2026-01-01%00',
  `2026-01-01T00:00:00.${'1'.repeat(5_000)}Z`,
]

test.each(listings)('%s rejects an invalid time and names the parameter', async (template) => {
  const reject = async (name: string, values: readonly string[]) => {
    for (const value of values) {
      const { issues } = expectError(await getPage(template, `${name}=${value}`), 400)
      expect([value, issues?.map(({ path }) => path)]).toEqual([value, [name]])
    }
  }
  // One schema reads both parameters of all listings.
  const isWhole = isFullRun || template === '/contacts'
  for (const name of ['createdAfter', 'createdBefore']) {
    await reject(name, [...(isWhole ? invalidMoments : ['2026-02-30']), `2026-01-01&${name}=2026-01-02`])
    for (const suffix of isWhole ? ['[]', '[gte]', 's'] : ['[gte]'])
      expectError(await getPage(template, `${name}${suffix}=2026-01-01`), 400)
  }
})
