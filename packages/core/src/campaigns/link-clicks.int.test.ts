import { createTestCampaign, createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { workspaces } from '../db/schema/index.ts'
import { toRecipient } from '../rendering/recipient.ts'
import type { Ctx } from '../request/context.ts'
import { readStats } from './campaign-stats.ts'
import { loadCampaignRenderer } from './campaign-mail.ts'
import { listCountedLinks } from './link-clicks.ts'
import { resolveTrackedLink } from './tracking.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

const html = `<a href="https://a.example/?x=1&amp;y=2">A</a> <a href="https://b.example/">B</a>
<a href="https://a.example/?x=1&amp;y=2">A again</a> <a href="https://c.example/{{ contact.id }}">C</a>`

/** Renders the mail of a new contact, and returns the tokens of its links. */
async function renderTokens(id: Parameters<typeof loadCampaignRenderer>[1], level: 'PERSON' | 'ANONYMOUS') {
  const { render } = await loadCampaignRenderer(ctx, id)
  const recipient = toRecipient(await createTestContact(ctx))
  const [rendered] = await render([{ ...recipient, tracking: { opens: 'OFF', clicks: level } }])
  const parts = rendered && 'mail' in rendered && 'parts' in rendered.mail ? rendered.mail.parts : []
  const text = Buffer.concat(parts)
    .toString()
    .replace(/=\r?\n/g, '')
    .replaceAll('=3D', '=')
  return [...text.matchAll(/public\/click\?token=([\w.-]+)"/g)].map(([, token = '']) => token)
}
const click = (token: string | undefined) => resolveTrackedLink(ctx, token ?? '', { shouldRecord: true })

test('each link of the template has its clicks, of persons and others, in its order', async () => {
  const { id } = await createTestCampaign(ctx, { html, trackClicks: true })
  const [a, b, again, c] = await renderTokens(id, 'PERSON')
  for (const token of [a, a, b, again, c]) await click(token)
  const [anonymousA, anonymousB] = await renderTokens(id, 'ANONYMOUS')
  await Promise.all([anonymousA, anonymousA, anonymousB, anonymousB, anonymousB].map(click))
  expect((await readStats(ctx, id)).links).toEqual([
    { url: 'https://a.example/?x=1&y=2', clicks: 3, anonymousClicks: 2 },
    { url: 'https://b.example/', clicks: 1, anonymousClicks: 3 },
  ])
})

test('a campaign of another workspace has no clicks of it, and a HEAD is no click', async () => {
  const { id } = await createTestCampaign(ctx, { html, trackClicks: true })
  const [a] = await renderTokens(id, 'PERSON')
  await resolveTrackedLink(ctx, a ?? '', { shouldRecord: false })
  const clicksOf = async () => (await readStats(ctx, id)).links[0]?.clicks
  expect(await clicksOf()).toBe(0)
  await database.db.update(workspaces).set({ suspendedAt: new Date().toISOString() as never })
  await click(a)
  expect(await clicksOf()).toBe(0)
})

test('the first 100 links without a variable are listed', () => {
  const many = Array.from({ length: 150 }, (_, index) => `<a href="https://example.com/${index}">x</a>`).join('')
  const links = listCountedLinks(`<a href="https://x.example/{{ contact.id }}">x</a><!-- ${many} -->${many}${many}`)
  expect(links).toHaveLength(100)
  expect([links[0], links[99]]).toEqual(['https://example.com/0', 'https://example.com/99'])
  expect(listCountedLinks(null)).toEqual([])
  expect(listCountedLinks('<a href="mailto:a@example.com">x</a><a href="{{ webVersionUrl }}">x</a>')).toEqual([])
})

test('links after the first 1,000 are not read', () => {
  const canParse = vi.spyOn(URL, 'canParse')
  onTestFinished(() => canParse.mockRestore())
  const repeated = (count: number) => '<a href="http://a.example">x</a>'.repeat(count)
  const last = '<a href="http://b.example">x</a>'
  expect(listCountedLinks(repeated(999) + last)).toEqual(['http://a.example', 'http://b.example'])
  expect(listCountedLinks(repeated(1_000) + last)).toEqual(['http://a.example'])
  expect(canParse).toHaveBeenCalledTimes(2_000)
})
