/** Sending domains of tests. RSA keys take long to generate, so all inserted domains of a process have the same two. */
import { generateKeyPairSync } from 'node:crypto'
import { type DomainKey, domains } from '@rapport/core/db/schema/index.ts'
import { toDomainKey } from '@rapport/core/domains/domain-keys.ts'
import { type DomainRow, recordsOf } from '@rapport/core/domains/domain-records.ts'
import { prepareDomain, prepareRotation, storeDomain, useNextKey } from '@rapport/core/domains/domains.ts'
import type { Domain, DomainInput } from '@rapport/core/domains/domains.schema.ts'
import { recordResults } from '@rapport/core/domains/verify-domain.ts'
import { newId, type DomainId } from '@rapport/core/kernel/ids.ts'
import { byId } from '@rapport/core/request/by-id.ts'
import { type Ctx, inTransaction } from '@rapport/core/request/context.ts'
import type { NameServer } from './name-server.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'

const pairs = new Map<number, { publicKey: string; privateKey: string }>()

function pairOf(number: number) {
  const known = pairs.get(number)
  if (known) return known
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const pair = { publicKey: publicKey.toString('base64'), privateKey }
  pairs.set(number, pair)
  return pair
}

const keyOf = ({ settings }: Ctx, id: DomainId, number: number): DomainKey =>
  toDomainKey(settings.keys, id, { number, ...pairOf(number) })

/** Creates a domain as the API does, with keys of its own. */
export async function createDomain(ctx: Ctx, input: DomainInput): Promise<Domain> {
  return storeDomain(ctx, await prepareDomain(ctx, input))
}

/** Rotates the keys of a domain as the API does. */
export async function rotateDomainKey(ctx: Ctx, id: DomainId): Promise<Domain> {
  return useNextKey(ctx, id, await prepareRotation(ctx, id))
}

/** Inserts a domain, PENDING by default. */
export async function addTestDomain(ctx: Ctx, name: string, overrides: Partial<DomainRow> = {}): Promise<DomainRow> {
  const id = newId('dom')
  const domain: DomainRow = {
    workspaceId: ctx.workspaceId,
    id,
    name,
    host: null,
    status: 'PENDING',
    keys: { signing: keyOf(ctx, id, 1), next: keyOf(ctx, id, 2), former: null },
    checks: [],
    checkedAt: null,
    createdAt: timestampNow(),
    ...overrides,
  }
  await ctx.db.insert(domains).values(domain)
  return domain
}

/** Inserts a VERIFIED domain, with all of its records found. */
export async function addVerifiedDomain(ctx: Ctx, name: string): Promise<DomainRow> {
  const domain = await addTestDomain(ctx, name)
  const { id } = domain
  const checks = recordsOf(domain, ctx.settings).map((record) => ({
    name: record.name,
    value: record.value,
    status: 'VERIFIED' as const,
    problem: null,
  }))
  const change = { status: 'VERIFIED' as const, checks, checkedAt: timestampNow() }
  const [verified] = await ctx.db
    .update(domains)
    .set(change)
    .where(byId(domains, ctx, id))
    .returning()
  if (!verified) throw new Error('The domain was not inserted')
  return verified
}

/** Inserts a VERIFIED domain whose host serves the pages of the workspace. */
export async function addVerifiedHost(ctx: Ctx, name: string, host: string): Promise<DomainRow> {
  const domain = await addTestDomain(ctx, name, { host })
  const found = recordsOf(domain, ctx.settings).map((record) => ({
    ...record,
    status: 'VERIFIED' as const,
    problem: null,
  }))
  const { row } = await inTransaction(ctx, (ctx) => recordResults(ctx, domain.id, found))
  return row
}

/** Publishes every record of a domain, as its owner does. */
export function publishRecords(
  dns: NameServer,
  { settings }: Ctx,
  domain: Pick<DomainRow, 'name' | 'keys' | 'host'>,
): void {
  for (const { type, name, value } of recordsOf(domain, settings)) {
    if (type === 'TXT') dns.setTextRecords(name, value)
    else dns.setAlias(name, value)
  }
}

/** Adds a domain with a status, and returns a function that records a check with one result for all of its records. */
export async function prepareDomainCheck(ctx: Ctx, before: DomainRow['status'], result: DomainRow['status']) {
  const domain = await addTestDomain(ctx, 'example.com', { status: before })
  const results = recordsOf(domain, ctx.settings).map((record) => ({ ...record, status: result, problem: null }))
  return () => recordResults(ctx, domain.id, results)
}
