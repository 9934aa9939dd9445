import { createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { uuidOf } from '../../kernel/ids.ts'
import { createRegistry } from '../../runtime/metrics.ts'
import { registerMailRateMetrics } from './mail-rates.ts'

const database = useTestDatabase()

/** Sends a campaign in a workspace of its own, with these counters. */
async function sendTestCampaign(domain: string, counts: { sent: number; bounced: number; complained: number }) {
  const { id } = await startTestCampaign(await createTestCtx(database.db), 1)
  const { sent, bounced, complained } = counts
  await database.db.execute(sql`
    update campaigns set from_email = ${`news@${domain}`}::text where id = ${uuidOf(id)}`)
  await database.db.execute(sql`
    update campaign_batches set sent = ${sent}, bounced = ${bounced}, complained = ${complained}
    where campaign_id = ${uuidOf(id)}`)
  return id
}

async function readSamples(name: string) {
  const registry = createRegistry()
  registerMailRateMetrics(registry, database.db)
  const { values = [] } = (await registry.getSingleMetric(`rapport_${name}`)?.get()) ?? {}
  return values
}

async function readRates() {
  const values = await readSamples('worst_mail_rate')
  return Object.fromEntries(values.map(({ labels, value }) => [`${labels['by']} ${labels['kind']}`, value]))
}

const kinds = ['workspace', 'domain', 'template'].flatMap((by) => [`${by} bounced`, `${by} complained`])
const none = Object.fromEntries(kinds.map((kind) => [kind, 0]))

test('shows the highest rates of workspaces and domains, until 7 days after the end', async () => {
  expect(await readRates()).toEqual(none)
  await sendTestCampaign('small.example', { sent: 499, bounced: 499, complained: 499 })
  expect(await readRates()).toEqual(none)
  await sendTestCampaign('good.example', { sent: 1_000, bounced: 10, complained: 9 })
  await sendTestCampaign('bad.example', { sent: 1_000, bounced: 80, complained: 0 })
  await sendTestCampaign('bad.example', { sent: 1_000, bounced: 0, complained: 10 })
  expect(await readRates()).toEqual({
    ...none,
    'workspace bounced': 0.08,
    'workspace complained': 0.01,
    'domain bounced': 0.04,
    'domain complained': 0.005,
  })
  const weekAgo = sql`now() - interval '8 days'`
  await database.db.execute(sql`update campaigns set sent_at = ${weekAgo}, updated_at = ${weekAgo}`)
  expect(await readRates()).toMatchObject({ 'workspace bounced': 0.08 })
  await database.db.execute(sql`update workspaces set suspended_at = ${weekAgo}`)
  expect(await readRates()).toEqual(none)
  await database.db.execute(sql`update workspaces set suspended_at = null`)
  await database.db.execute(sql`update campaigns set status = 'PAUSED'`)
  expect(await readRates()).toEqual(none)
})

test('shows the highest rates of the emails of a template, each by itself', async () => {
  const ctx = await createTestCtx(database.db)
  for (const [mails, bounced, complained] of [
    [499, 499, 499],
    [500, 5, 9],
    [1_000, 1, 10],
  ] as const) {
    const { id } = await createTestTemplate(ctx)
    await database.db.execute(sql`
      insert into emails (workspace_id, id, template_id, template_version, ground, status, bounce_class, complained_at)
      select ${uuidOf(ctx.workspaceId)}::uuid, uuidv7(), ${uuidOf(id)}::uuid, 1, 'REQUEST', 'SENT',
        case when n <= ${bounced}::int then 'HARD' end, case when n <= ${complained}::int then now() end
      from generate_series(1, ${mails}::int) n`)
  }
  expect(await readRates()).toEqual({ ...none, 'template bounced': 0.01, 'template complained': 0.01 })
  await database.db.execute(sql`update emails set created_at = now() - interval '8 days'`)
  expect(await readRates()).toEqual(none)
})

test('names the worst twenty workspaces of each kind, and none without a rate', async () => {
  for (let bounced = 0; bounced <= 21; bounced++)
    await sendTestCampaign('many.example', { sent: 1_000, bounced, complained: 0 })
  const samples = await readSamples('workspace_mail_rate')
  expect(samples.map(({ value }) => value)).toEqual(Array.from({ length: 20 }, (_, index) => (21 - index) / 1_000))
  for (const { labels } of samples)
    expect(labels).toEqual({ kind: 'bounced', name: expect.any(String), workspace: expect.stringMatching(/^wsp_/) })
})
