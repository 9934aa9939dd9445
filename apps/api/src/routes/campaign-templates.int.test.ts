/** Templates written to slow down other workspaces. */
import type { Campaign } from '@rapport/core/campaigns/campaigns.schema.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ApiResponse, expectError, startTestApi, type TestWorkspace } from '../../test/testing.ts'

const renderingDeadlines = { checkMs: 500, minMs: 500, charactersPerMs: 5_000 }
const api = useForFile(() => startTestApi({ settings: { renderingDeadlines } }))
/** With the deadlines of production. */
const patient = useForFile(() => startTestApi({ database: api.database }))
let eve: TestWorkspace
let ada: TestWorkspace
let list: List
beforeAll(async () => {
  ;[eve, ada] = [await api.signUp(), await api.signUp()]
  list = await api.create<List>('/lists', eve.key, { name: 'Newsletter' })
})

const input = (given: Record<string, unknown>) => ({ name: 'November', subject: 'News', listId: list.id, ...given })
const create = (given: Record<string, unknown>) => api.create<Campaign>('/campaigns', eve.key, input(given))
const post = (path: string, body: unknown) => api.call('POST', path, { key: eve.key, body })

const slow = {
  'a chain of filters': `{{ "${"<' a-".repeat(200_000)} <' " ${'| slugify'.repeat(200)} | size }}`,
  'filters that group': `{% assign a = (1..150000) ${"| group_by_exp: 'i', 'i.name'".repeat(30)} %}`,
  'one filter': '{{ (1..300000) | where_exp: "i", "i contains 3" | size }}',
  loops:
    '{% for i in (1..700) %}{% for j in (1..700) %}{% assign x = j | plus: 1 | plus: 1 | plus: 1 %}{% endfor %}{% endfor %}',
}

/** Counts the requests of another workspace that complete before `slow`, although they start later. */
async function countMeanwhile(slow: Promise<ApiResponse>): Promise<number> {
  let isOver = false
  void slow.finally(() => (isOver = true))
  for (let count = 0; ; count += 1) {
    const { status } = await api.call('GET', '/lists', { key: ada.key })
    expect(status).toBe(200)
    if (isOver) return count
  }
}

/** More than complete before the template starts to render. */
const many = 5

describe('a template that takes long to render', () => {
  // The other two are those of the next tests, and of `send-campaign-pauses.int.test.ts`.
  test.each(Object.entries(slow).slice(0, countRuns({ gate: 2, full: 4 })))(
    'returns 400 in the preview without blocking other requests: %s',
    async (_how, html) => {
      const { id } = await patient.create<Campaign>('/campaigns', eve.key, input({ html }))
      const preview = post(`/campaigns/${id}/preview`, {})
      expect(await countMeanwhile(preview)).toBeGreaterThan(many)
      const { message, issues } = expectError(await preview, 400)
      expect(message).toMatch(/^The template cannot be rendered: template (time limit of \d+ ms|render limit) exceeded/)
      expect(issues).toEqual([{ path: 'html', message }])
    },
  )

  test('returns 400 for a test email, which is not sent', async () => {
    const { id } = await create({ subject: slow['loops'], html: '<p>Hi</p>' })
    const response = await post(`/campaigns/${id}/send-test`, { email: 'eve@example.com' })
    expect(expectError(response, 400).issues).toMatchObject([{ path: 'subject' }])
    expect(await api.query("select from mails where kind = 'CAMPAIGN_TEST'")).toEqual([])
  })

  test('does not block the templates of another workspace', async () => {
    const { id } = await create({ html: slow['loops'] })
    const previews = Array.from({ length: 3 }, () => post(`/campaigns/${id}/preview`, {}))
    const newsletter = await api.create<List>('/lists', ada.key, { name: 'Newsletter' })
    await api.create('/campaigns', ada.key, { ...input({ html: '<p>Hi</p>' }), listId: newsletter.id })
    for (const response of await Promise.all(previews)) expectError(response, 400)
  })
})

describe('a template that takes long to parse', () => {
  const lines = `{% liquid\n${'echo a\n'.repeat(149_000)}%}`
  test.each([
    [
      'outputs',
      { field: 'html', source: '{{a}}'.repeat(200_000), message: 'must have at most 5,000 tags and outputs' },
    ],
    [
      'tags',
      {
        field: 'html',
        source: '{% assign a = 1 %}'.repeat(50_000),
        message: 'must have at most 5,000 tags and outputs',
      },
    ],
    [
      'comments',
      { field: 'text', source: '{% # x %}'.repeat(100_000), message: 'must have at most 5,000 tags and outputs' },
    ],
    [
      'branches',
      {
        field: 'html',
        source: `{% if a %}${'{% elsif b %}'.repeat(75_000)}{% endif %}`,
        message: 'must have at most 5,000 tags',
      },
    ],
    [
      'unclosed comments',
      { field: 'html', source: '{% comment %}'.repeat(75_000), message: 'must have at most 5,000 tags and outputs' },
    ],
    [
      'filters',
      { field: 'text', source: `{{ a${'|upcase'.repeat(140_000)} }}`, message: 'must have at most 5,000 filters' },
    ],
    ['lines in a tag', { field: 'html', source: lines, message: 'template time limit of 500 ms exceeded' }],
  ])('returns 400 when saved, without blocking other requests: %s', async (_what, { field, source, message }) => {
    const draft = await create({})
    const create400 = post('/campaigns', input({ [field]: source }))
    await countMeanwhile(create400)
    const change400 = api.call('PATCH', `/campaigns/${draft.id}`, { key: eve.key, body: { [field]: source } })
    await countMeanwhile(change400)
    for (const response of await Promise.all([create400, change400])) {
      const { issues } = expectError(response, 400)
      expect(issues).toEqual([{ path: field, message: expect.stringContaining(message) }])
    }
    expect((await api.call('GET', `/campaigns/${draft.id}`, { key: eve.key })).body).toEqual(draft)
  })

  test('returns 400 in the preview if it was saved before the limits existed', async () => {
    const { id } = await create({ name: 'Old' })
    await api.query("update campaigns set html = $1 where name = 'Old'", ['{{a}}'.repeat(200_000)])
    const preview = post(`/campaigns/${id}/preview`, {})
    expect(await countMeanwhile(preview)).toBeGreaterThan(many)
    expect(expectError(await preview, 400).issues).toMatchObject([{ path: 'html' }])
  })
})

test('a template of 1 MiB with many variables can be saved and previewed', async () => {
  const paragraphs =
    '<p>Hello {{ contact.firstName | default: "you" }}, this is a line of a very long email.</p>\n'.repeat(2_500)
  const story = `<p>${'And so on, for a long while. '.repeat(20)}</p>`
  const html = paragraphs + story.repeat(Math.floor((1_048_576 - paragraphs.length) / story.length))
  const { id } = await patient.create<Campaign>('/campaigns', eve.key, input({ html }))
  // On a busy machine, the first rendering may exceed the time limit.
  const body = await waitUntil(
    async () => {
      const { status, body } = await patient.call('POST', `/campaigns/${id}/preview`, { key: eve.key, body: {} })
      return status === 200 && body
    },
    { describe: 'the template is rendered within the time limit' },
  )
  expect(String(body['html']).split('Hello Ada, this')).toHaveLength(2_501)
})

test('previewing a campaign whose list was deleted returns 409', async () => {
  const { id } = await create({ name: 'Left over' })
  await api.query("update campaigns set list_id = null where name = 'Left over'")
  expectError(await post(`/campaigns/${id}/preview`, {}), 409, 'The list of this campaign was deleted')
})
