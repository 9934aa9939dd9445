/** Templates that somebody wrote to hold the others up. */
import type { Campaign } from '@rapport/core/campaigns/campaigns.schema.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ApiResponse, expectError, startTestApi, type TestWorkspace } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
let eve: TestWorkspace
let ada: TestWorkspace
let list: List
beforeAll(async () => {
  ;[eve, ada] = [await api.signUp(), await api.signUp()]
  list = await api.create<List>('/lists', eve.key, { name: 'Letter' })
})

const input = (given: Record<string, unknown>) => ({ name: 'November', subject: 'News', listId: list.id, ...given })
const create = (given: Record<string, unknown>) => api.create<Campaign>('/campaigns', eve.key, input(given))
const post = (path: string, body: unknown) => api.call('POST', path, { key: eve.key, body })

const slow = {
  'in a chain of filters': `{{ "${"<' a-".repeat(200_000)} <' " ${'| slugify'.repeat(200)} | size }}`,
  'in filters that make groups': `{% assign a = (1..150000) ${"| group_by_exp: 'i', 'i.name'".repeat(30)} %}`,
  'in one filter': '{{ (1..300000) | where_exp: "i", "i contains 3" | size }}',
  'in loops': '{% for i in (1..900) %}{% for j in (1..900) %}{{ j }}{% endfor %}{% endfor %}',
}

/** How many requests of another workspace are answered before `slow` is, though they begin later. */
async function countMeanwhile(slow: Promise<ApiResponse>): Promise<number> {
  let isOver = false
  void slow.finally(() => (isOver = true))
  for (let count = 0; ; count += 1) {
    const { status } = await api.call('GET', '/lists', { key: ada.key })
    expect(status).toBe(200)
    if (isOver) return count
  }
}

/** So many would not be before the template's turn comes. */
const many = 5

describe('a template that takes long to render', () => {
  test.each(Object.entries(slow))(
    '%s, is a 400 of the preview, and others are answered meanwhile',
    async (_how, html) => {
      const { id } = await create({ html })
      const preview = post(`/campaigns/${id}/preview`, {})
      expect(await countMeanwhile(preview)).toBeGreaterThan(many)
      const { message, issues } = expectError(await preview, 400)
      expect(message).toMatch(/^The template cannot be rendered: template (time limit of \d+ ms|render limit) exceeded/)
      expect(issues).toEqual([{ path: 'html', message }])
    },
  )

  test('is a 400 of the test copy, which is not sent', async () => {
    const { id } = await create({ subject: slow['in loops'], html: '<p>Hi</p>' })
    const response = await post(`/campaigns/${id}/send-test`, { email: 'eve@example.com' })
    expect(expectError(response, 400).issues).toMatchObject([{ path: 'subject' }])
    expect(await api.query("select from mails where kind = 'CAMPAIGN_TEST'")).toEqual([])
  })

  test('holds up no template of another workspace for good', async () => {
    const { id } = await create({ html: slow['in loops'] })
    const previews = Array.from({ length: 3 }, () => post(`/campaigns/${id}/preview`, {}))
    const letters = await api.create<List>('/lists', ada.key, { name: 'Letter' })
    await api.create('/campaigns', ada.key, { ...input({ html: '<p>Hi</p>' }), listId: letters.id })
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
      'comments without end',
      { field: 'html', source: '{% comment %}'.repeat(75_000), message: 'must have at most 5,000 tags and outputs' },
    ],
    [
      'filters',
      { field: 'text', source: `{{ a${'|upcase'.repeat(140_000)} }}`, message: 'must have at most 5,000 filters' },
    ],
    ['lines in a tag', { field: 'html', source: lines, message: 'template time limit of 1000 ms exceeded' }],
  ])(
    'as it has too many %s, is a 400 as it is saved, and others are answered meanwhile',
    async (_what, { field, source, message }) => {
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
    },
  )

  test('that was saved before there were limits, is a 400 of its preview', async () => {
    const { id } = await create({ name: 'Old' })
    await api.query("update campaigns set html = $1 where name = 'Old'", ['{{a}}'.repeat(200_000)])
    const preview = post(`/campaigns/${id}/preview`, {})
    expect(await countMeanwhile(preview)).toBeGreaterThan(many)
    expect(expectError(await preview, 400).issues).toMatchObject([{ path: 'html' }])
  })
})

test('a letter of a mebibyte, with a value in every paragraph, is saved and looked at', async () => {
  const paragraphs =
    '<p>Hello {{ contact.firstName | default: "you" }}, this is a line of a very long letter.</p>\n'.repeat(2_500)
  const story = `<p>${'And so on, for a long while. '.repeat(20)}</p>`
  const html = paragraphs + story.repeat(Math.floor((1_048_576 - paragraphs.length) / story.length))
  const { id } = await create({ html })
  const { status, body } = await post(`/campaigns/${id}/preview`, {})
  expect({ status, message: body['message'] }).toEqual({ status: 200, message: undefined })
  expect(String(body['html']).split('Hello Ada, this')).toHaveLength(2_501)
})

test('a preview of a campaign whose list was deleted is a conflict', async () => {
  const { id } = await create({ name: 'Left over' })
  await api.query("update campaigns set list_id = null where name = 'Left over'")
  expectError(await post(`/campaigns/${id}/preview`, {}), 409, 'The list of this campaign was deleted')
})
