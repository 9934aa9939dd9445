import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { addTestDomain, addVerifiedDomain, publishRecords } from '@rapport/testing/network/sending-domains.ts'
import { updateWorkspace } from '@rapport/core/workspaces/update-workspace.ts'
import { expect, test } from 'vitest'
import { runDoctor } from './testing.ts'

const database = useTestDatabase()
const dns = useForFile(() => startNameServer({ denyUnknown: true }))
const examine = async () => (await runDoctor({ DATABASE_URL: database.url }, dns.address))('Domains')

test('Domains: has a finding for each verified domain with a missing or wrong record', async () => {
  const ctx = await createTestCtx(database.db)
  await addTestDomain(ctx, 'pending.example')
  expect(await examine()).toEqual([])

  const engines = await addVerifiedDomain(ctx, 'engines.example')
  const looms = await addVerifiedDomain(await createTestCtx(database.db), 'looms.example')
  for (const domain of [engines, looms]) publishRecords(dns, ctx, domain)
  expect(await examine()).toEqual(['ok: the records of 2 domains are published'])

  const signing = `${engines.keys.signing.selector}._domainkey.engines.example`
  dns.setTextRecords(signing)
  dns.setTextRecords('_dmarc.looms.example')
  const [engine, loom] = [`engines.example of ${engines.workspaceId}`, `looms.example of ${looms.workspaceId}`]
  const noPolicy = `warn: ${loom}: There is no TXT record at _dmarc.looms.example`
  expect(await examine()).toEqual([`fail: ${engine}: There is no TXT record at ${signing}`, noPolicy])
  dns.setTextRecords(signing, 'v=DKIM1; p=')
  expect(await examine()).toEqual([expect.stringMatching(`^fail: ${engine}: The key at .* is revoked`), noPolicy])

  dns.setFailing(signing)
  expect(await examine()).toEqual([
    expect.stringMatching(`^warn: ${engine}: Unknown, because no name server`),
    noPolicy,
  ])
})

test('Domains: one that has lost its key is a warning, as it signs no more emails', async () => {
  const ctx = await createTestCtx(database.db)
  await addTestDomain(ctx, 'lost.example', { status: 'FAILED' })
  const findings = (await examine()).filter((finding) => finding.includes('lost.example'))
  expect(findings).toEqual([expect.stringMatching(/^warn: .*There is no TXT record at rp1-/)])
})

test('Senders: names one whose domain another workspace has verified', async () => {
  const ctx = await createTestCtx(database.db)
  const findings = async () => (await runDoctor({ DATABASE_URL: database.url }, dns.address))('Senders')
  await updateWorkspace(ctx, { fromEmail: 'news@mail.mills.example' })
  expect(await findings()).toEqual([])
  await addVerifiedDomain(await createTestCtx(database.db), 'mills.example')
  expect(await findings()).toEqual([
    expect.stringMatching(`^warn: ${ctx.workspaceId} names news@mail.mills.example, whose domain another`),
  ])
})
