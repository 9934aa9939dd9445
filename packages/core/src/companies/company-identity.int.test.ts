/** Which company `PUT /companies` and batches write, also under concurrency. */
import { and, eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createTestCompany, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { companies } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import { ActivityQuery } from '../events/activity.ts'
import { CompanyQuery } from './companies.schema.ts'
import { readCompany } from './find-company.ts'
import { listCompanies, listCompanyActivity } from './list-companies.ts'
import { updateCompany } from './update-company.ts'
import { upsertCompany } from './write-companies.ts'
import { writeCompanyBatch } from './write-company-batch.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const acme = { name: 'Acme', domain: 'acme.example' }
const listAll = async () => (await listCompanies(ctx, CompanyQuery.parse({}))).data

test('PUT finds a company by external id, then by domain, and says which', async () => {
  const first = await upsertCompany(ctx, acme)
  expect(first).toMatchObject({ isNew: true, matchedBy: 'none', company: { ...acme, externalId: null } })
  const { id } = first.company
  const named = await upsertCompany(ctx, { domain: 'acme.example', externalId: 'org_1' })
  expect(named).toMatchObject({ isNew: false, matchedBy: 'domain', company: { id, ...acme, externalId: 'org_1' } })
  const moved = await upsertCompany(ctx, { externalId: 'org_1', domain: 'acme.test' })
  expect(moved).toMatchObject({ isNew: false, matchedBy: 'externalId', company: { id, domain: 'acme.test' } })
  expect(await upsertCompany(ctx, { domain: 'acme.test', externalId: null })).toMatchObject({ company: moved.company })
  expect(await listEventTypes(ctx)).toEqual(['company.created', 'company.updated', 'company.updated'])
})

test('PUT by external id clears the domain with null, and emits one event', async () => {
  const { id } = await createTestCompany(ctx, { ...acme, externalId: 'org_1' })
  const cleared = await upsertCompany(ctx, { externalId: 'org_1', domain: null })
  expect(cleared).toMatchObject({ matchedBy: 'externalId', company: { id, name: 'Acme', domain: null } })
  expect(await upsertCompany(ctx, { externalId: 'org_1', domain: null })).toEqual(cleared)
  const { data: activity } = await listCompanyActivity(ctx, id, ActivityQuery.parse({}))
  expect(activity.map(({ type }) => type)).toEqual(['company.updated', 'company.created'])
  expect(activity[0]?.data).toMatchObject({ changes: { domain: { from: 'acme.example', to: null } } })
})

test('PUT rejects keys of different companies, and writes nothing', async () => {
  const one = await createTestCompany(ctx, { domain: 'one.example', externalId: 'org_1' })
  const two = await createTestCompany(ctx, { domain: 'two.example' })
  await expect(upsertCompany(ctx, { externalId: 'org_1', domain: 'two.example', name: 'x' })).rejects.toMatchObject({
    code: 'identity_conflict',
    message: 'externalId and domain belong to different companies',
    details: { companyIds: [one.id, two.id] },
  })
  await expect(upsertCompany(ctx, { externalId: 'org_2', domain: 'one.example', name: 'x' })).rejects.toMatchObject({
    code: 'identity_conflict',
    message: 'domain belongs to a company with another externalId',
    details: { companyIds: [one.id] },
  })
  expect(await listAll()).toEqual([two, one])
})

test('PUT needs a key, and a name for a new company', async () => {
  const required = (path: string) => ({ code: 'validation_error', issues: [{ path }] })
  await expect(upsertCompany(ctx, { name: 'Acme' })).rejects.toMatchObject(required('externalId'))
  await expect(upsertCompany(ctx, { domain: 'acme.example' })).rejects.toMatchObject(required('name'))
})

test('two PUTs of one domain at once make one company', async () => {
  const creating = await openTransaction(ctx.db, (db) => upsertCompany({ ...ctx, db }, acme))
  const other = upsertCompany(ctx, { ...acme, phone: '+44 20 7946 0000' })
  await waitUntilBlocked(database.db, 1)
  await creating.commit()
  expect(await other).toMatchObject({ isNew: false, matchedBy: 'domain', company: { phone: '+44 20 7946 0000' } })
  expect(await listAll()).toHaveLength(1)
})

test('two PUTs of one domain with two external ids: one company, one 409', async () => {
  const puts = ['org_1', 'org_2'].map((externalId) => upsertCompany(ctx, { ...acme, externalId }))
  const results = await Promise.allSettled(puts)
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'identity_conflict' } })
  expect(await listAll()).toHaveLength(1)
})

test('two companies cannot swap domains until one is cleared', async () => {
  const one = await createTestCompany(ctx, { domain: 'one.example', externalId: 'org_1' })
  const two = await createTestCompany(ctx, { domain: 'two.example', externalId: 'org_2' })
  const swap = await Promise.allSettled([
    upsertCompany(ctx, { externalId: 'org_1', domain: 'two.example' }),
    upsertCompany(ctx, { externalId: 'org_2', domain: 'one.example' }),
  ])
  const refused = { status: 'rejected', reason: { code: 'identity_conflict' } }
  expect(swap).toMatchObject([refused, refused])
  await updateCompany(ctx, two.id, { domain: null })
  await upsertCompany(ctx, { externalId: 'org_1', domain: 'two.example' })
  await upsertCompany(ctx, { externalId: 'org_2', domain: 'one.example' })
  expect(await readCompany(ctx, one.id)).toMatchObject({ domain: 'two.example' })
  expect(await readCompany(ctx, two.id)).toMatchObject({ domain: 'one.example' })
})

test('the entries of a batch take effect in order, and an invalid one alone fails', async () => {
  const known = await createTestCompany(ctx, { domain: 'one.example', externalId: 'org_1' })
  const companies = [
    { externalId: 'org_1', domain: 'moved.example' },
    { name: 'Heir', domain: 'one.example' },
    { domain: 'new.example' },
    { name: 'Public', domain: 'gmail.com' },
    { domain: 'one.example', tags: ['vip'] },
    { name: 'Keyless' },
    { externalId: 'org_1', domain: 'moved.example' },
    { externalId: 'org_9', domain: 'moved.example' },
  ]
  const { results } = await writeCompanyBatch(ctx, { companies, onConflict: 'update' })
  expect(results).toMatchObject([
    { status: 'UPDATED', company: { id: known.id, domain: 'moved.example' } },
    { status: 'CREATED', company: { name: 'Heir', domain: 'one.example', tags: [] } },
    { status: 'FAILED', code: 'validation_error', issues: [{ path: 'name' }] },
    { status: 'FAILED', code: 'validation_error', issues: [{ path: 'domain' }] },
    { status: 'UPDATED', company: { name: 'Heir', tags: ['vip'] } },
    { status: 'CREATED', company: { name: 'Keyless' } },
    { status: 'UNCHANGED', company: { id: known.id } },
    { status: 'FAILED', code: 'identity_conflict', companyIds: [known.id] },
  ])
  expect((await listAll()).map(({ domain }) => domain)).toEqual([null, 'one.example', 'moved.example'])
  const types = ['company.created', 'company.created', 'company.created', 'company.updated', 'company.updated']
  expect((await listEventTypes(ctx)).toSorted()).toEqual(types)
})

test('a domain that a batch clears is free for its next entries', async () => {
  await createTestCompany(ctx, { externalId: 'org_1', domain: 'one.example' })
  await createTestCompany(ctx, { externalId: 'org_2', domain: 'two.example' })
  const companies = [
    { externalId: 'org_1', domain: null },
    { externalId: 'org_2', domain: 'one.example' },
    { externalId: 'org_3', domain: 'two.example', name: 'Heir' },
    { externalId: 'org_2', domain: null },
    { externalId: 'org_1', domain: 'one.example' },
  ]
  const { results } = await writeCompanyBatch(ctx, { companies, onConflict: 'update' })
  expect(results.map(({ status }) => status)).toEqual(['UPDATED', 'UPDATED', 'CREATED', 'UPDATED', 'UPDATED'])
  expect((await listAll()).map(({ externalId, domain }) => [externalId, domain])).toEqual([
    ['org_3', 'two.example'],
    ['org_2', null],
    ['org_1', 'one.example'],
  ])
})

test('a domain passes through several companies in one batch', async () => {
  await createTestCompany(ctx, { externalId: 'a', domain: 'a.example' })
  await createTestCompany(ctx, { externalId: 'b', domain: 'd.example' })
  await createTestCompany(ctx, { externalId: 'c', domain: 'x.example' })
  const companies = [
    { externalId: 'c', phone: '+44 20 7946 0000' },
    { externalId: 'b', domain: 'c.example' },
    { externalId: 'a', domain: 'd.example' },
    { externalId: 'a', domain: 'e.example' },
    { externalId: 'c', domain: 'd.example' },
  ]
  const { results } = await writeCompanyBatch(ctx, { companies, onConflict: 'update' })
  expect(results.map(({ status }) => status)).toEqual(companies.map(() => 'UPDATED'))
  expect((await listAll()).map(({ domain }) => domain)).toEqual(['d.example', 'c.example', 'e.example'])
})

test('a batch reports or skips existing companies', async () => {
  const { id } = await createTestCompany(ctx, { domain: 'acme.example' })
  const entry = { name: 'Other', domain: 'acme.example' }
  const write = async (onConflict: 'fail' | 'skip') =>
    (await writeCompanyBatch(ctx, { companies: [entry], onConflict })).results[0]
  expect(await write('fail')).toMatchObject({ status: 'FAILED', code: 'already_exists', companyId: id })
  expect(await write('skip')).toMatchObject({ status: 'SKIPPED', company: { id, name: 'Acme' } })
})

test('two batches that create the same keys in different orders both succeed', async () => {
  // Holds each batch between its two companies, and leaves none.
  const domains = ['b.example', 'z.example']
  const holding = await openTransaction(ctx.db, async (db) => {
    for (const domain of domains) await createTestCompany({ ...ctx, db }, { domain })
    await db
      .delete(companies)
      .where(and(eq(companies.workspaceId, ctx.workspaceId), isAnyOf(companies.domain, domains)))
  })
  const write = async (...keys: [domain: string, externalId: string][]) => {
    const companies = keys.map(([domain, externalId]) => ({ name: domain, domain, externalId }))
    const { results } = await writeCompanyBatch(ctx, { companies, onConflict: 'update' })
    return results.map(({ status }) => status).join(' ')
  }
  const one = write(['a.example', 'e2'], ['b.example', 'e1'])
  await waitUntilBlocked(database.db, 1)
  const other = write(['aa.example', 'e1'], ['z.example', 'e2'])
  await waitUntilBlocked(database.db, 2)
  const outcomes = Promise.all([one, other])
  await holding.commit()
  expect((await outcomes).toSorted()).toEqual(['CREATED CREATED', 'UPDATED UPDATED'])
})
