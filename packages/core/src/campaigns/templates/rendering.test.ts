import { afterAll, describe, expect, test } from 'vitest'
import { newId, type WorkspaceId } from '../../kernel/ids.ts'
import { checkTemplates, stopRenderingThread, renderMails } from './rendering.ts'

afterAll(stopRenderingThread)

const values = { contact: {}, campaign: {}, list: {}, workspace: {}, unsubscribeUrl: 'https://crm.example.com/u' }
const [ada, eve] = [newId('wsp'), newId('wsp')]

/** For people who are numbered from 1: what goes over the wire, but for the ends of its lines. */
async function render(workspaceId: WorkspaceId, html: string, people = 1) {
  const recipients = Array.from({ length: people }, (_, n) => ({
    values: { ...values, contact: { firstName: `Person ${n + 1}` } },
    tracking: undefined,
  }))
  const mails = await renderMails(workspaceId, { sources: { subject: 'News', html, text: null }, recipients })
  const wordsOf = (parts: Uint8Array[]) => Buffer.concat(parts).toString().replaceAll('=\r\n', '')
  return mails.map((mail) => ('parts' in mail ? wordsOf(mail.parts) : mail))
}

const slow = `{{ "${"<' a-".repeat(150_000)}" ${'| slugify'.repeat(400)} | size }}`
const slower = '{% assign a = 1 %}'.repeat(150_000)
const ended = (field: string) => ({ field, message: expect.stringMatching(/limit.* exceeded/), isSlow: true })

describe('a template that takes too long', { timeout: 30_000 }, () => {
  test('is ended, for everyone in the group alike, and the next one is rendered', async () => {
    expect(await render(eve, slow, 3)).toEqual(Array.from({ length: 3 }, () => ({ fault: ended('html') })))
    expect(await render(eve, slower)).toEqual([{ fault: ended('html') }])
    expect(await render(eve, 'Hi {{ contact.firstName }}')).toEqual([expect.stringContaining('Hi Person 1')])
  })

  test('is named, whichever of the three it is', async () => {
    for (const field of ['subject', 'html', 'text'] as const) {
      const sources = { subject: 'x', html: null, text: null, [field]: slower }
      const recipients = [{ values, tracking: undefined }]
      expect(await renderMails(eve, { sources, recipients })).toEqual([{ fault: ended(field) }])
    }
  })

  test('lets this thread go on meanwhile', async () => {
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)
    await render(eve, slower)
    clearInterval(timer)
    expect(turns).toBeGreaterThan(50)
  })
})

test('workspaces take turns, and of one so many may wait', async () => {
  const order: string[] = []
  const check = (workspace: WorkspaceId) =>
    checkTemplates(workspace, { html: '<p>Hi</p>' }).then(() => order.push(workspace))
  const asked = [check(eve), check(eve), check(eve), check(ada), check(ada)]
  await Promise.all(asked)
  expect(order).toEqual([eve, eve, ada, eve, ada])

  const many = await Promise.allSettled(Array.from({ length: 30 }, () => check(eve)).concat(check(ada)))
  const refused = many.filter((one) => one.status === 'rejected').map((one) => one.reason as unknown)
  expect(refused).toMatchObject(Array.from({ length: 9 }, () => ({ code: 'throttled' })))
  expect(many.at(-1)).toMatchObject({ status: 'fulfilled' })
})

test('a group whose mails are too much to hold at once gets them all, in order', async () => {
  const html = `<p>{{ contact.firstName }}</p><pre>${'long '.repeat(200_000)}</pre>{{ unsubscribeUrl }}`
  const mails = await render(ada, html, 12)
  expect(mails.map((mail) => (typeof mail === 'string' ? /<p>(Person \d+)/.exec(mail)?.[1] : mail))).toEqual(
    Array.from({ length: 12 }, (_, n) => `Person ${n + 1}`),
  )
})

describe('what would take the memory at one stroke', () => {
  const long = '&'.repeat(400_000)
  const doubled = (times: number) => '{% assign s = s | concat: s %}'.repeat(times)
  test.each([
    ['a set', '{{ (1..2400000) | uniq | size }}'],
    [
      'a text in many places of an array',
      `{% assign s = "${long}" | split: "-" %}${doubled(11)}{{ s | upcase | size }}`,
    ],
    ['such an array as it is', `{% assign s = "${long}" | split: "-" %}${doubled(11)}{{ s }}`],
    [
      'what is captured',
      `{% capture c %}{% for i in (1..90000) %}${'x'.repeat(9_000)}{% endfor %}{% endcapture %}{{ c | size }}`,
    ],
    ['what is written', `{% for i in (1..90000) %}${'x'.repeat(9_000)}{% endfor %}`],
    ['lists in lists', `${'<ul><li>'.repeat(300)}${'<br>'.repeat(100_000)}`],
    ['marks of ours, forged', `{{ "${long}" }}${'\ue0000\ue001'.repeat(200_000)}`],
    ['marks of ours, made', `{{ "${long}" }}{{ "${'%EE%80%800%EE%80%81'.repeat(20_000)}" | url_decode | raw }}`],
  ])('%s, is refused', async (_what, html) => {
    expect(await render(eve, html)).toMatchObject([{ fault: { message: expect.stringMatching(/limit.* exceeded/) } }])
  })
})

describe('before the parser sees it', () => {
  test.each([
    ['html', '{{a}}'.repeat(5_001), 'must have at most 5,000 tags and outputs'],
    ['text', '{% # x %}'.repeat(5_001), 'must have at most 5,000 tags and outputs'],
    ['subject', `{{ a ${'|upcase'.repeat(5_001)} }}`, 'must have at most 5,000 filters'],
  ])('a template with too much of something is refused: %s', async (field, source, message) => {
    await expect(checkTemplates(eve, { [field]: source })).rejects.toThrow(
      expect.objectContaining({ code: 'invalid', message: `${field}: ${message}`, issues: [{ path: field, message }] }),
    )
  })

  test('one that is merely long is not', async () => {
    const html = '<p>A line of a long letter, and {{ contact.firstName }} | you</p>'.repeat(4_900)
    const checking = checkTemplates(ada, { html: html + 'x'.repeat(1_048_576 - html.length) })
    await expect(checking).resolves.toBeUndefined()
  })
})
