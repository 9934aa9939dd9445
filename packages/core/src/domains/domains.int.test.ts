import { createTestCtx, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import {
  addTestDomain,
  createDomain,
  publishRecords,
  rotateDomainKey,
} from '@rapport/testing/network/sending-domains.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSilentNameServer } from '@rapport/testing/network/hostile-parties.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test, vi } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { uuidOf } from '../kernel/ids.ts'
import { privateKeyOf } from './domain-keys.ts'
import { recordsOf } from './domain-records.ts'
import { deleteDomain, readDomain, readDomainRow } from './domains.ts'
import { returnPathOf } from './return-path.ts'
import { limitChecks, verifyDomain } from './verify-domain.ts'

const database = useTestDatabase()
const dns = useForFile(() => startNameServer({ denyUnknown: true }))
const returnPathDomain = 'bounces.rapport.example'
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db, { settings: { dnsServers: [dns.address], returnPathDomain } })
})
const name = 'engines.example'

test('a domain has a record for each of two keys, the return path and DMARC', async () => {
  const domain = await createDomain(ctx, { name })
  expect(domain).toMatchObject({ name, status: 'PENDING', checkedAt: null })
  const suffix = domain.id.slice(-12)
  expect(domain.records.map((record) => [record.purpose, record.type, record.name, record.status])).toEqual([
    ['DKIM', 'TXT', `rp1-${suffix}._domainkey.${name}`, 'PENDING'],
    ['DKIM', 'TXT', `rp2-${suffix}._domainkey.${name}`, 'PENDING'],
    ['RETURN_PATH', 'CNAME', `bounce.${name}`, 'PENDING'],
    ['DMARC', 'TXT', `_dmarc.${name}`, 'PENDING'],
  ])
  expect(await readDomain(ctx, domain.id)).toEqual(domain)
  await expect(createDomain(ctx, { name })).rejects.toMatchObject({ code: 'already_exists' })
})

test('another workspace has the same name with keys and records of its own', async () => {
  const other = await createTestCtx(database.db, { settings: ctx.settings })
  const domains = [await createDomain(ctx, { name }), await createDomain(other, { name })] as const
  const names = domains.flatMap(({ records }) => records.filter(({ purpose }) => purpose === 'DKIM'))
  expect(new Set(names.flatMap((record) => [record.name, record.value])).size).toBe(8)
  const { keys } = await readDomainRow(ctx, domains[0].id)
  expect(privateKeyOf(ctx.settings.keys, domains[0].id, keys.signing)).toMatch(/^-----BEGIN PRIVATE KEY/)
  expect(() => privateKeyOf(ctx.settings.keys, domains[1].id, keys.signing)).toThrow()
})

test('the record of one workspace does not verify the domain of another', async () => {
  const other = await createTestCtx(database.db, { settings: ctx.settings })
  const [own, others] = [await addTestDomain(ctx, name), await addTestDomain(other, name)]
  publishRecords(dns, ctx, own)
  expect(await verifyDomain(ctx, own.id)).toMatchObject({ status: 'VERIFIED' })
  expect(await verifyDomain(other, others.id)).toMatchObject({ status: 'PENDING' })
})

test('a check that finds the signing key verifies a domain, and a lost record fails it', async () => {
  const { id, keys } = await addTestDomain(ctx, 'looms.example')
  expect(await verifyDomain(ctx, id)).toMatchObject({ status: 'PENDING', checkedAt: expect.any(String) })
  const [signing] = recordsOf({ name: 'looms.example', keys, host: null }, ctx.settings)
  dns.setTextRecords(signing?.name ?? '', signing?.value ?? '')
  const verified = await verifyDomain(ctx, id)
  expect(verified.status).toBe('VERIFIED')
  expect(verified.records.map(({ status }) => status)).toEqual(['VERIFIED', 'PENDING', 'PENDING', 'PENDING'])
  await verifyDomain(ctx, id)
  dns.setTextRecords(signing?.name ?? '')
  expect(await verifyDomain(ctx, id)).toMatchObject({ status: 'FAILED' })
  dns.setTextRecords(signing?.name ?? '', signing?.value ?? '')
  expect(await verifyDomain(ctx, id)).toMatchObject({ status: 'VERIFIED' })
  expect(await listEventTypes(ctx)).toEqual(['domain.verified', 'domain.failed', 'domain.verified'])
})

test('a failure of DNS changes no status, and shows as a problem', async () => {
  const domain = await addTestDomain(ctx, 'mills.example')
  publishRecords(dns, ctx, domain)
  await verifyDomain(ctx, domain.id)
  for (const record of recordsOf(domain, ctx.settings)) dns.setFailing(record.name)
  const { status, records } = await verifyDomain(ctx, domain.id)
  expect([status, ...records.map((record) => record.status)]).toEqual(Array(5).fill('VERIFIED'))
  for (const { problem } of records) expect(problem).toContain('no name server answered')
})

test('a check waits until those of slow name servers have ended', async () => {
  const check = limitChecks(500)
  const silent = await startSilentNameServer()
  const slow = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const on = await createTestCtx(database.db, { settings: { dnsServers: [silent.address], returnPathDomain } })
      const domain = await addTestDomain(on, 'slow.example')
      return () => check(on, domain)
    }),
  )
  const domain = await addTestDomain(ctx, 'fast.example')
  const slowChecks = [...slow, ...slow, ...slow].map((check) => check())
  const { results } = await check(ctx, domain)
  expect(results.map(({ status }) => status)).not.toContain('UNKNOWN')
  await Promise.all(slowChecks)
  silent.close()
})

test('a rotation signs with the published key; the former record stays for seven days', async () => {
  const domain = await addTestDomain(ctx, 'wheels.example')
  await expect(rotateDomainKey(ctx, domain.id)).rejects.toMatchObject({ code: 'wrong_state' })
  publishRecords(dns, ctx, domain)
  const before = await verifyDomain(ctx, domain.id)
  const rotated = await rotateDomainKey(ctx, domain.id)
  const { keys } = await readDomainRow(ctx, domain.id)
  expect(keys).toMatchObject({ signing: domain.keys.next, former: domain.keys.signing })
  const dkim = rotated.records.filter(({ purpose }) => purpose === 'DKIM')
  expect(dkim.map((record) => record.status)).toEqual(['VERIFIED', 'PENDING', 'VERIFIED'])
  expect([dkim[0], dkim[2]]).toEqual([before.records[1], before.records[0]])
  expect(dkim[1]?.name).toMatch(/^rp3-/)
  expect(await verifyDomain(ctx, domain.id)).toMatchObject({ status: 'VERIFIED' })
  const again = { code: 'quota_exceeded', retryAfterSeconds: expect.any(Number) }
  await expect(rotateDomainKey(ctx, domain.id)).rejects.toMatchObject(again)
  vi.useFakeTimers({ now: Date.now() + 8 * 24 * 60 * 60 * 1000, toFake: ['Date'] })
  const later = await readDomain(ctx, domain.id)
  vi.useRealTimers()
  const names = later.records.filter(({ purpose }) => purpose === 'DKIM').map((record) => record.name)
  expect(names).toEqual(dkim.slice(0, 2).map((record) => record.name))
})

test('a rotation generates the key before it locks the domain', async () => {
  const domain = await addTestDomain(ctx, 'pulleys.example')
  publishRecords(dns, ctx, domain)
  await verifyDomain(ctx, domain.id)
  const locks: Promise<unknown>[] = []
  const settings = {
    ...ctx.settings,
    get domainKeyBits() {
      const lock = sql`
        select from domains where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(domain.id)}
        for update nowait`
      locks.push(Promise.resolve(database.db.execute(lock)))
      return 2_048
    },
  }
  await rotateDomainKey({ ...ctx, settings }, domain.id)
  expect((await Promise.all(locks)).length).toBe(1)
})

test('the return path is of the domain once its record is verified', async () => {
  const domain = await addTestDomain(ctx, 'gears.example')
  expect(await returnPathOf(ctx, 'gears.example')).toBe(returnPathDomain)
  publishRecords(dns, ctx, domain)
  await verifyDomain(ctx, domain.id)
  expect(await returnPathOf(ctx, 'Gears.example')).toBe('bounce.gears.example')
  expect(await returnPathOf(await createTestCtx(database.db, { settings: ctx.settings }), 'gears.example')).toBe(
    returnPathDomain,
  )
  // The operator moved the server: the record leads to another host now.
  const moved = { ...ctx, settings: { ...ctx.settings, returnPathDomain: 'new.rapport.example' } }
  expect(await returnPathOf(moved, 'gears.example')).toBe('new.rapport.example')
})

test('a domain that was deleted and created again has other records', async () => {
  const former = await createDomain(ctx, { name })
  await deleteDomain(ctx, former.id)
  await expect(readDomain(ctx, former.id)).rejects.toMatchObject({ code: 'not_found' })
  const { records } = await createDomain(ctx, { name })
  expect(records[0]?.name).not.toBe(former.records[0]?.name)
  const audited = await ctx.db.execute<{ action: string }>(sql`
    select action from audit_entries where workspace_id = ${uuidOf(ctx.workspaceId)} order by id`)
  expect(audited.rows.map(({ action }) => action)).toEqual(['domain.created', 'domain.deleted', 'domain.created'])
})
