import { maxPageBytes } from '@rapport/core/request/page-bytes.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeAll, expect, test } from 'vitest'
import { createParents, pathOf, recordMakers } from './listings.ts'
import { startTestApi } from './testing.ts'

interface Page {
  data: { id: string }[]
  nextCursor: string | null
}

const api = useForFile(() => startTestApi({ environment: { QUOTA_IMPORTS: '0' } }))
const workspace = useForFile(() => api.signUp())
const fixture = useForFile(() => createParents(api, workspace))
const recordBytes = 200_000
const recordsEach = 8

/** How each large column gets a value of about `recordBytes`. */
const largeValues: Record<string, string> = {
  forms: `fields = json_build_array(json_build_object('id', 'a', 'label', $1::text, 'type', 'TEXT', 'required', false))`,
  form_submissions: `values = json_build_object('a', $1::text)`,
  contacts: `custom_field_values = jsonb_build_object('a', $1::text)`,
  tasks: `notes = $1::text`,
  custom_fields: `options = array[$1::text]`,
  imports: `errors = jsonb_build_array(jsonb_build_object('line', 2, 'message', $1::text))`,
  events: `data = json_build_object('a', $1::text)`,
  stages: `name = $1::text`,
}
const listings = [
  '/forms',
  '/forms/{id}/submissions',
  '/contacts',
  '/contacts?sort=email',
  '/contacts?search=example',
  '/contacts/{id}/activity',
  '/contacts/{contactId}/tasks',
  '/tasks',
  '/custom-fields',
  '/imports',
  '/events',
  '/events?sort=createdAt',
  '/pipelines',
]
const randomText = (length: number) =>
  Array.from({ length: length / 8 }, () => Math.random().toString(36).slice(2, 10).padEnd(8)).join('')
/** PostgreSQL compresses the first one. */
const texts = { compressed: 'x'.repeat(recordBytes), 'not compressed': randomText(recordBytes) }

beforeAll(async () => {
  for (const listing of new Set(listings.map((path) => path.replace(/\?.*/, ''))))
    for (let n = 0; n < recordsEach; n++) await recordMakers[listing]?.(fixture)
  const [{ count } = {}] = await api.query('select count(*)::int from events')
  await waitUntil(async () => (await readPage('/events?limit=100')).body.data.length === Number(count), {
    describe: 'the feed shows every event',
  })
})

const readPage = (path: string) => api.call<Page>('GET', pathOf(path, fixture), { key: workspace.token })

/** Reads all pages of a listing. */
async function readPages(path: string): Promise<Page[]> {
  const pages: Page[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const separator = path.includes('?') ? '&' : '?'
    const { status, body }: { status: number; body: Page } = await readPage(
      `${path}${separator}limit=100${cursor && `&cursor=${cursor}`}`,
    )
    expect(status).toBe(200)
    pages.push(body)
    cursor = body.nextCursor
  }
  return pages
}

test.each(Object.entries(texts))('pages of large records end early: %s values', async (_, text) => {
  const idsBefore = new Map<string, string[]>()
  const update = async (value: string) => {
    for (const [table, change] of Object.entries(largeValues)) await api.query(`update ${table} set ${change}`, [value])
  }
  await update('')
  for (const path of listings)
    idsBefore.set(
      path,
      (await readPages(path)).flatMap(({ data }) => data.map(({ id }) => id)),
    )
  await update(text)
  for (const path of listings) {
    const pages = await readPages(path)
    const sizes = pages.map((page) => JSON.stringify(page).length)
    expect([path, pages.length > 1]).toEqual([path, true])
    expect([path, Math.max(...sizes) < maxPageBytes + 1.1 * recordBytes]).toEqual([path, true])
    expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual(idsBefore.get(path))
  }
})

test('a record that alone exceeds the bound has a page of its own', async () => {
  await api.query(`update tasks set notes = $1`, ['x'.repeat(2 * maxPageBytes)])
  const pages = await readPages('/tasks')
  expect(pages.map(({ data }) => data.length)).toEqual(pages.map(() => 1))
})

test('a page of small records is not bounded', async () => {
  await api.query(`update tasks set notes = 'x'`)
  const [page, ...others] = await readPages('/tasks')
  expect([page?.data.length, others]).toEqual([2 * recordsEach, []])
})
