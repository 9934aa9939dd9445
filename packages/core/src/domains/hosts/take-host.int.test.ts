import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { addTestDomain, createDomain, publishRecords } from '@rapport/testing/network/sending-domains.ts'
import { eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../../db/client.ts'
import { workspaces } from '../../db/schema/index.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'
import { clearDeletedWorkspace, deleteWorkspace } from '../../operations/workspaces/delete-workspace.ts'
import { type Ctx, pagesUrlOf } from '../../request/context.ts'
import type { DomainRow } from '../domain-records.ts'
import { deleteDomain, readDomainRow, updateDomain } from '../domains.ts'
import { createHostDirectory } from './host-directory.ts'
import { withPagesUrl } from './pages-url.ts'
import { readWorkspace } from '../../workspaces/workspaces.ts'
import { verifyDomain } from '../verify-domain.ts'

const database = useTestDatabase()
const dns = useForFile(() => startNameServer({ denyUnknown: true }))
const installation = 'crm.example.com'

let [owner, other]: Ctx[] = []
let [name, host] = ['', '']
let count = 0
beforeEach(async () => {
  const settings = { dnsServers: [dns.address], publicUrl: `https://${installation}` }
  ;[owner, other] = [await createTestCtx(database.db, { settings }), await createTestCtx(database.db, { settings })]
  count += 1
  ;[name, host] = [`client${count}.example`, `news.client${count}.example`]
})
const ctxOf = (ctx: Ctx | undefined): Ctx => {
  if (!ctx) throw new Error('not prepared')
  return ctx
}

const linksOf = async (ctx: Ctx | undefined) => new URL(pagesUrlOf(await withPagesUrl(ctxOf(ctx)))).hostname
const findHolders = (text: string) =>
  createHostDirectory({ db: database.db, settings: ctxOf(owner).settings, ttlMs: 0, timeoutMs: 5_000 }).find(text)
const find = async (text: string) => (await findHolders(text))?.workspaceId

/** Adds the domain with the host, and returns it. */
const claim = (ctx: Ctx | undefined) => addTestDomain(ctxOf(ctx), name, { host })
/** Publishes the records of a domain, and checks them. */
async function verify(ctx: Ctx | undefined, { id }: Pick<DomainRow, 'id'>) {
  publishRecords(dns, ctxOf(ctx), await readDomainRow(ctxOf(ctx), id))
  return verifyDomain(ctxOf(ctx), id)
}
const hostRecord = (domain: { records: { purpose: string; status: string; problem: string | null }[] }) =>
  domain.records.find(({ purpose }) => purpose === 'HOST')

test('a host counts once the DKIM and HOST records of its workspace are found', async () => {
  const domain = await createDomain(ctxOf(owner), { name, host })
  expect(hostRecord(domain)).toMatchObject({ type: 'CNAME', name: host, value: installation, status: 'PENDING' })
  expect([await linksOf(owner), await find(host)]).toEqual([installation, undefined])
  dns.setAlias(host, installation)
  expect(hostRecord(await verifyDomain(ctxOf(owner), domain.id))).toMatchObject({ status: 'VERIFIED' })
  expect([await linksOf(owner), await find(host)]).toEqual([installation, undefined])
  expect(await verify(owner, domain)).toMatchObject({ status: 'VERIFIED', host })
  expect([await linksOf(owner), await find(host)]).toEqual([host, ctxOf(owner).workspaceId])
  expect([await linksOf(other), await find(installation)]).toEqual([installation, undefined])
})

test('a host that was claimed before its owner verifies is the owner’s', async () => {
  const squatted = await claim(other)
  const own = await createDomain(ctxOf(owner), { name, host })
  await verify(owner, own)
  expect(await find(host)).toBe(ctxOf(owner).workspaceId)
  const refused = hostRecord(await verifyDomain(ctxOf(other), squatted.id))
  expect(refused).toMatchObject({ status: 'FAILED', problem: expect.stringContaining('in use') })
  expect([await linksOf(owner), await linksOf(other)]).toEqual([host, installation])
})

test('a host that is claimed after its owner has verified already exists', async () => {
  await verify(owner, await claim(owner))
  const refusal = expect.objectContaining({ code: 'already_exists' })
  await expect(createDomain(ctxOf(other), { name, host })).rejects.toEqual(refusal)
  const pending = await addTestDomain(ctxOf(other), name)
  await expect(updateDomain(ctxOf(other), pending.id, { host })).rejects.toEqual(refusal)
  await verify(other, pending)
  await expect(updateDomain(ctxOf(other), pending.id, { host })).rejects.toEqual(refusal)
  const wider = await addTestDomain(ctxOf(owner), host)
  await expect(updateDomain(ctxOf(owner), wider.id, { host })).rejects.toEqual(refusal)
})

test('of two owners who claim a host at once, one has it', async () => {
  const both = await Promise.all(
    [owner, other].map(async (ctx) => ({ ctx, ...(await addTestDomain(ctxOf(ctx), name)) })),
  )
  for (const domain of both) await verify(domain.ctx, domain)
  const claims = await Promise.allSettled(both.map(({ ctx, id }) => updateDomain(ctxOf(ctx), id, { host })))
  expect(claims.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const rejected = claims.find((result) => result.status === 'rejected')
  expect(rejected?.reason).toMatchObject({ code: 'already_exists' })
})

test('of two owners who verify at once, one has the host', async () => {
  const both = [
    { ctx: ctxOf(owner), ...(await claim(owner)) },
    { ctx: ctxOf(other), ...(await claim(other)) },
  ]
  for (const domain of both) publishRecords(dns, domain.ctx, domain)
  const verified = await Promise.all(both.map(({ ctx, id }) => verifyDomain(ctx, id)))
  expect(verified.map(({ status }) => status)).toEqual(['VERIFIED', 'VERIFIED'])
  expect(verified.map((domain) => String(hostRecord(domain)?.status)).toSorted()).toEqual(['FAILED', 'VERIFIED'])
  const links = [await linksOf(owner), await linksOf(other)]
  expect(links.toSorted()).toEqual([installation, host].toSorted())
})

test('former links go on at a host that is changed, lost or deleted', async () => {
  const { workspaceId } = ctxOf(owner)
  const domain = await claim(owner)
  await verify(owner, domain)
  dns.setAlias(host)
  expect(hostRecord(await verifyDomain(ctxOf(owner), domain.id))).toMatchObject({ status: 'PENDING' })
  expect([await linksOf(owner), await find(host)]).toEqual([installation, workspaceId])
  await verify(owner, domain)
  expect(await linksOf(owner)).toBe(host)
  await updateDomain(ctxOf(owner), domain.id, { host: name })
  expect([await linksOf(owner), await find(host), await find(name)]).toEqual([installation, workspaceId, undefined])
  await verify(owner, domain)
  expect([await linksOf(owner), await find(host), await find(name)]).toEqual([name, workspaceId, workspaceId])
  await deleteDomain(ctxOf(owner), domain.id)
  expect([await linksOf(owner), await find(host), await find(name)]).toEqual([installation, workspaceId, workspaceId])
})

test('a host whose domain is no longer VERIFIED goes to the next owner who names it', async () => {
  const former = await claim(owner)
  await verify(owner, former)
  const next = await addTestDomain(ctxOf(other), name)
  await verify(other, next)
  await expect(updateDomain(ctxOf(other), next.id, { host })).rejects.toMatchObject({ code: 'already_exists' })
  dns.setTextRecords(`${former.keys.signing.selector}._domainkey.${name}`)
  expect(await verifyDomain(ctxOf(owner), former.id)).toMatchObject({ status: 'FAILED' })
  expect(await find(host)).toBe(ctxOf(owner).workspaceId)
  await updateDomain(ctxOf(other), next.id, { host })
  expect(hostRecord(await verify(other, next))).toMatchObject({ status: 'VERIFIED' })
  expect([await find(host), await linksOf(other)]).toEqual([ctxOf(other).workspaceId, host])
  expect(hostRecord(await verify(owner, former))).toMatchObject({ status: 'FAILED' })
  expect([await find(host), await linksOf(owner)]).toEqual([ctxOf(other).workspaceId, installation])
})

test('a host that its owner gives up goes to another owner, and back', async () => {
  const [one, two] = [ctxOf(owner), ctxOf(other)]
  const first = await claim(owner)
  await verify(owner, first)
  const second = await addTestDomain(two, name)
  await verify(other, second)
  await updateDomain(one, first.id, { host: null })
  expect(await updateDomain(two, second.id, { host })).toMatchObject({ host })
  // The links that the first owner mailed go on at once, and while the other one has the host.
  const taken = { workspaceId: two.workspaceId, formerWorkspaceIds: [one.workspaceId] }
  expect(await findHolders(host)).toEqual(taken)
  await verify(other, second)
  expect([await findHolders(host), await linksOf(other)]).toEqual([taken, host])
  await expect(updateDomain(one, first.id, { host })).rejects.toMatchObject({ code: 'already_exists' })
  await deleteDomain(two, second.id)
  await updateDomain(one, first.id, { host })
  await verify(owner, first)
  expect(await findHolders(host)).toEqual({ workspaceId: one.workspaceId, formerWorkspaceIds: [two.workspaceId] })
  expect([await linksOf(owner), await linksOf(other)]).toEqual([host, installation])
})

test('a host that was given up before its record was found is free', async () => {
  const [first, second] = [await addTestDomain(ctxOf(owner), name), await addTestDomain(ctxOf(other), name)]
  await verify(owner, first)
  await verify(other, second)
  await updateDomain(ctxOf(owner), first.id, { host })
  await updateDomain(ctxOf(owner), first.id, { host: null })
  expect(await updateDomain(ctxOf(other), second.id, { host })).toMatchObject({ host })
})

test('a deleted workspace has no host', async () => {
  await verify(owner, await claim(owner))
  const { workspaceId } = ctxOf(owner)
  await database.db.update(workspaces).set({ deletedAt: timestampNow() }).where(eq(workspaces.id, workspaceId))
  expect(await find(host)).toBeUndefined()
  const next = await addTestDomain(ctxOf(other), name, { host })
  await verify(other, next)
  expect(await find(host)).toBe(ctxOf(other).workspaceId)
})

test('former links go on when the workspace that took the host is deleted', async () => {
  const [one, two] = [ctxOf(owner), ctxOf(other)]
  const first = await claim(owner)
  await verify(owner, first)
  await deleteDomain(one, first.id)
  await verify(other, await claim(other))
  await deleteWorkspace(two, await readWorkspace(two))
  const former = { workspaceId: one.workspaceId, formerWorkspaceIds: [] }
  expect([await findHolders(host), await linksOf(owner)]).toEqual([former, installation])
  while (await clearDeletedWorkspace(two, uuidOf(two.workspaceId)));
  expect(await findHolders(host)).toEqual(former)
  const third = await createTestCtx(database.db, { settings: two.settings })
  await verify(third, await claim(third))
  expect(await findHolders(host)).toEqual({ workspaceId: third.workspaceId, formerWorkspaceIds: [one.workspaceId] })
})

test('the addresses of the installation are as good as a CNAME record, others are not', async () => {
  const domain = await addTestDomain(ctxOf(owner), name, { host: name })
  dns.setAddresses(installation, [['127.0.0.1', '127.0.0.2']])
  dns.setAddresses(name, [['127.0.0.2', '127.0.0.3']])
  const wrong = hostRecord(await verifyDomain(ctxOf(owner), domain.id))
  expect(wrong).toMatchObject({ status: 'FAILED', problem: expect.stringContaining('127.0.0.2, 127.0.0.3') })
  dns.setAddresses(name, [['127.0.0.2']])
  expect(hostRecord(await verifyDomain(ctxOf(owner), domain.id))).toMatchObject({ status: 'VERIFIED' })
  dns.setAlias(name, 'elsewhere.example')
  expect(hostRecord(await verifyDomain(ctxOf(owner), domain.id))).toMatchObject({ status: 'FAILED' })
})

test.each([
  (text: string) => `${text}:443`,
  (text: string) => text.toUpperCase(),
  (text: string) => `${text}.`,
  (text: string) => `${text}.:8443`,
])('a request finds a host in every spelling: %#', async (spell) => {
  await verify(owner, await claim(owner))
  expect(await find(spell(host))).toBe(ctxOf(owner).workspaceId)
})

test('while the database is away, the last hosts count', async () => {
  await verify(owner, await claim(owner))
  const away = openDatabase(database.url, { applicationName: 'hosts test', onError: () => {} })
  const { settings, workspaceId } = ctxOf(owner)
  const hosts = createHostDirectory({ db: away.db, settings, ttlMs: 0, timeoutMs: 5_000 })
  expect(await hosts.find(host)).toMatchObject({ workspaceId })
  await away.close()
  expect(await hosts.find(host)).toMatchObject({ workspaceId })
})

test('a host is taken for no other before the database has ever responded', async () => {
  await verify(owner, await claim(owner))
  const away = openDatabase(database.url, { applicationName: 'hosts test', onError: () => {} })
  await away.close()
  const hosts = createHostDirectory({ db: away.db, settings: ctxOf(owner).settings, ttlMs: 0, timeoutMs: 5_000 })
  await expect(hosts.find(host)).rejects.toMatchObject({ code: 'unavailable' })
  for (const name of [installation, 'localhost', '10.0.0.7']) expect(await hosts.find(name)).toBeUndefined()
})

test('a workspace has at most 20 hosts, with those of former links', async () => {
  const domain = await claim(owner)
  await verify(owner, domain)
  for (let at = 1; at < 20; at++) {
    await updateDomain(ctxOf(owner), domain.id, { host: `h${at}.${name}` })
    await verify(owner, domain)
  }
  await expect(updateDomain(ctxOf(owner), domain.id, { host: `h20.${name}` })).rejects.toThrow('at most 20 hosts')
  expect(await updateDomain(ctxOf(owner), domain.id, { host: `h7.${name}` })).toMatchObject({ host: `h7.${name}` })
  await expect(createDomain(ctxOf(owner), { name: `x.${name}`, host: `y.x.${name}` })).rejects.toThrow('at most 20')
})

test('a host that comes back is checked before links are at it again', async () => {
  const domain = await claim(owner)
  await verify(owner, domain)
  await updateDomain(ctxOf(owner), domain.id, { host: null })
  expect(hostRecord(await updateDomain(ctxOf(owner), domain.id, { host }))).toMatchObject({ status: 'PENDING' })
  expect(await linksOf(owner)).toBe(installation)
  await verify(owner, domain)
  expect(await linksOf(owner)).toBe(host)
})

test('links leave a host that no name server finds twice in turn, until one does', async () => {
  const domain = await claim(owner)
  await verify(owner, domain)
  dns.setFailing(host)
  await verifyDomain(ctxOf(owner), domain.id)
  expect(await linksOf(owner)).toBe(host)
  expect(hostRecord(await verifyDomain(ctxOf(owner), domain.id))).toMatchObject({ status: 'FAILED' })
  expect([await linksOf(owner), await find(host)]).toEqual([installation, ctxOf(owner).workspaceId])
  dns.setFailing(host, false)
  await verify(owner, domain)
  expect(await linksOf(owner)).toBe(host)
})
