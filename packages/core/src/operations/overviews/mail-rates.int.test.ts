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

async function readRates() {
  const registry = createRegistry()
  registerMailRateMetrics(registry, database.db)
  const { values = [] } = (await registry.getSingleMetric('rapport_worst_mail_rate')?.get()) ?? {}
  return Object.fromEntries(values.map(({ labels, value }) => [`${labels['by']} ${labels['kind']}`, value]))
}

test('shows the highest rates of a workspace, and of a domain over all workspaces', async () => {
  const none = { 'workspace bounced': 0, 'workspace complained': 0, 'domain bounced': 0, 'domain complained': 0 }
  expect(await readRates()).toEqual(none)
  await sendTestCampaign('small.example', { sent: 499, bounced: 499, complained: 499 })
  expect(await readRates()).toEqual(none)
  await sendTestCampaign('good.example', { sent: 1_000, bounced: 10, complained: 1 })
  await sendTestCampaign('bad.example', { sent: 1_000, bounced: 80, complained: 0 })
  await sendTestCampaign('bad.example', { sent: 1_000, bounced: 0, complained: 4 })
  expect(await readRates()).toEqual({
    'workspace bounced': 0.08,
    'workspace complained': 0.004,
    'domain bounced': 0.04,
    'domain complained': 0.002,
  })
  await database.db.execute(sql`update campaigns set sent_at = now() - interval '8 days'`)
  expect(await readRates()).toEqual(none)
})
