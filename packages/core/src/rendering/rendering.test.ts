import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { newId, type WorkspaceId } from '../kernel/ids.ts'
import { defaultDeadlines, findTemplateFaults, stopRenderingThread, renderMails } from './rendering.ts'
import type { PartialTemplateSources } from './template-sources.ts'

afterAll(stopRenderingThread)

const values = {
  contact: {},
  campaign: {},
  list: { name: 'News' },
  workspace: {},
  locale: 'en',
  unsubscribeUrl: 'https://crm.example.com/u',
  preferencesUrl: 'https://crm.example.com/p',
}
const [ada, eve] = [newId('wsp'), newId('wsp')]

const findFaults = (workspaceId: WorkspaceId, sources: PartialTemplateSources) =>
  findTemplateFaults(workspaceId, { sources, names: { customFieldKeys: [] } })

/** Renders mails for numbered contacts. Returns the encoded parts without soft line breaks. */
async function render(workspaceId: WorkspaceId, html: string, { count = 1, deadlines = defaultDeadlines } = {}) {
  const recipients = Array.from({ length: count }, (_, n) => ({
    values: { ...values, contact: { firstName: `Person ${n + 1}` } },
    tracking: undefined,
  }))
  const sources = { subject: 'News', html, text: null }
  const mails = await renderMails(workspaceId, { sources, recipients }, deadlines)
  const decodeParts = (parts: Uint8Array[]) => Buffer.concat(parts).toString().replaceAll('=\r\n', '')
  return mails.map((mail) => ('parts' in mail ? decodeParts(mail.parts) : mail))
}

const slow = `{{ "${"<' a-".repeat(150_000)}" ${'| slugify'.repeat(400)} | size }}`
const slower = '{% assign a = 1 %}'.repeat(150_000)
const limitFault = (field: string) => ({ field, message: expect.stringMatching(/limit.* exceeded/), isSlow: true })

describe('a template that takes too long', () => {
  const deadlines = { ...defaultDeadlines, minMs: 300, charactersPerMs: Infinity }

  test('fails for the whole group, and the next template is rendered', async () => {
    expect(await render(eve, slow, { count: 3, deadlines })).toEqual(
      Array.from({ length: 3 }, () => ({ fault: limitFault('html') })),
    )
    expect(await render(eve, slower, { deadlines })).toEqual([{ fault: limitFault('html') }])
    expect(await render(eve, 'Hi {{ contact.firstName }}')).toEqual([expect.stringContaining('Hi Person 1')])
  })

  test('is named in the fault: subject, html or text', async () => {
    for (const field of ['subject', 'html', 'text'] as const) {
      const sources = { subject: 'x', html: null, text: null, [field]: slower }
      const recipients = [{ values, tracking: undefined }]
      expect(await renderMails(eve, { sources, recipients }, deadlines)).toEqual([{ fault: limitFault(field) }])
    }
  })

  test('does not block the main thread', async () => {
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)
    await render(eve, slower, { deadlines })
    clearInterval(timer)
    expect(turns).toBeGreaterThan(50)
  })

  test('gets more time while the process gets no processor time', async () => {
    const usage = vi.spyOn(process, 'cpuUsage').mockReturnValue({ user: 0, system: 0 })
    onTestFinished(() => usage.mockRestore())
    expect(await render(eve, slower, { deadlines: { ...deadlines, minMs: 10 } })).toEqual([
      { fault: limitFault('html') },
    ])
    // Asked twice in each of 300 steps instead of 10.
    expect(usage.mock.calls.length).toBeGreaterThan(2 * 300)
  })
})

test('workspaces take turns, and each has a limited queue', async () => {
  const order: string[] = []
  const check = (workspace: WorkspaceId) =>
    findFaults(workspace, { html: '<p>Hi</p>' }).then(() => order.push(workspace))
  const checks = [check(eve), check(eve), check(eve), check(ada), check(ada)]
  await Promise.all(checks)
  expect(order).toEqual([eve, eve, ada, eve, ada])

  const many = await Promise.allSettled(Array.from({ length: 30 }, () => check(eve)).concat(check(ada)))
  const errors = many.filter((check) => check.status === 'rejected').map((check) => check.reason as unknown)
  expect(errors).toMatchObject(Array.from({ length: 9 }, () => ({ code: 'unavailable' })))
  expect(many.at(-1)).toMatchObject({ status: 'fulfilled' })
})

test('of a slow group, the rest waits for the turns of others', async () => {
  const html = '{% for i in (1..4000) %}{{ contact.firstName | slugify | size }}{% endfor %}'
  const ended: string[] = []
  const end = (name: string) => (mails: unknown[]) => void ended.push(`${name}: ${mails.length}`)
  const deadlines = { ...defaultDeadlines, minMs: 20_000 }
  await Promise.all([
    render(eve, html, { count: 20, deadlines }).then(end('slow')),
    render(ada, '<p>Hi</p>').then(end('other')),
  ])
  expect(ended).toEqual(['other: 1', 'slow: 20'])
})

test('a group above the size limit of a response is rendered completely, in order', async () => {
  const html = `<p>{{ contact.firstName }}</p><pre>${'long '.repeat(200_000)}</pre>{{ unsubscribeUrl }}`
  const mails = await render(ada, html, { count: 12 })
  expect(mails.map((mail) => (typeof mail === 'string' ? /<p>(Person \d+)/.exec(mail)?.[1] : mail))).toEqual(
    Array.from({ length: 12 }, (_, n) => `Person ${n + 1}`),
  )
})

describe('a template that would exhaust the memory', () => {
  const long = '&'.repeat(400_000)
  const doubled = (times: number) => '{% assign s = s | concat: s %}'.repeat(times)
  test.each([
    ['a unique filter of a large range', '{{ (1..2400000) | uniq | size }}'],
    [
      'one string many times in an array',
      `{% assign s = "${long}" | split: "-" %}${doubled(11)}{{ s | upcase | size }}`,
    ],
    ['such an array as output', `{% assign s = "${long}" | split: "-" %}${doubled(11)}{{ s }}`],
    [
      'a large capture',
      `{% capture c %}{% for i in (1..90000) %}${'x'.repeat(9_000)}{% endfor %}{% endcapture %}{{ c | size }}`,
    ],
    ['a large output', `{% for i in (1..90000) %}${'x'.repeat(9_000)}{% endfor %}`],
    ['nested lists', `${'<ul><li>'.repeat(300)}${'<br>'.repeat(100_000)}`],
    ['forged placeholders', `{{ "${long}" }}${'\ue0000\ue001'.repeat(200_000)}`],
    ['decoded placeholders', `{{ "${long}" }}{{ "${'%EE%80%800%EE%80%81'.repeat(20_000)}" | url_decode | raw }}`],
  ])('is rejected: %s', async (_what, html) => {
    expect(await render(eve, html)).toMatchObject([{ fault: { message: expect.stringMatching(/limit.* exceeded/) } }])
  })
})

describe('before parsing', () => {
  test.each([
    ['html', '{{a}}'.repeat(5_001), 'must have at most 5,000 tags and outputs'],
    ['text', '{% # x %}'.repeat(5_001), 'must have at most 5,000 tags and outputs'],
    ['subject', `{{ a ${'|upcase'.repeat(5_001)} }}`, 'must have at most 5,000 filters'],
  ])('a template with too many tags or filters is rejected: %s', async (field, source, message) => {
    expect(await findFaults(eve, { [field]: source })).toEqual([{ field, message }])
  })

  test('a long template with few tags is accepted', async () => {
    const html = '<p>A line of a long template, and {{ contact.firstName }} | you</p>'.repeat(4_900)
    const checking = findFaults(ada, { html: html + 'x'.repeat(1_048_576 - html.length) })
    await expect(checking).resolves.toEqual([])
  })
})
