import { expect, test } from 'vitest'
import {
  createTestCompany,
  createTestCtx,
  createTestMember,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction } from '@rapport/testing/postgres/database.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { ActivityQuery } from '../events/activity.ts'
import { newId } from '../kernel/ids.ts'
import { removeMember } from '../team/members.ts'
import { setQuotas } from '../workspaces/set-quotas.ts'
import { type CompanyInput, CompanyQuery, NewCompany } from './companies.schema.ts'
import { createCompany } from './create-company.ts'
import { readCompany } from './find-company.ts'
import { lockCompanies } from './linked-companies.ts'
import { listCompanies, listCompanyActivity } from './list-companies.ts'
import { updateCompany } from './update-company.ts'
import { upsertCompany } from './write-companies.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const find = async (query: Record<string, unknown>) =>
  (await listCompanies(ctx, CompanyQuery.parse(query))).data.map(({ name }) => name)
const messageOf = (input: object) => NewCompany.safeParse({ name: 'Acme', ...input }).error?.issues[0]?.message

test('a company is created, changed and read, with an event for each change', async () => {
  await createCustomField(ctx, { object: 'COMPANY', key: 'tier', label: 'Tier', type: 'TEXT', options: [] })
  const company = await createTestCompany(ctx, { domain: 'acme.example', customFieldValues: { tier: 'gold' } })
  expect(await readCompany(ctx, company.id)).toEqual(company)
  expect(await updateCompany(ctx, company.id, { name: company.name })).toEqual(company)
  const updated = await updateCompany(ctx, company.id, { name: 'Acme Ltd', customFieldValues: { tier: null } })
  expect(updated).toMatchObject({ name: 'Acme Ltd', domain: 'acme.example', customFieldValues: {} })
  expect(await listEventTypes(ctx)).toEqual(['company.created', 'company.updated'])
  await expect(createTestCompany(ctx, { customFieldValues: { tiers: 'x' } })).rejects.toThrow('unknown custom field')
})

test('a domain becomes ASCII and lower case, and is not a guess', () => {
  const domainOf = (domain: string) => NewCompany.parse({ name: 'Acme', domain }).domain
  expect(domainOf(' Bücher.Example. ')).toBe('xn--bcher-kva.example')
  expect(domainOf('WWW.acme.example')).toBe('www.acme.example')
  for (const domain of ['https://acme.example', 'ada@acme.example', '192.0.2.1', 'co.uk', 'acme', ''])
    expect([domain, messageOf({ domain })]).toEqual([domain, expect.stringMatching(/^must be a domain/)])
})

test.each([
  'gmail.com',
  'GMAIL.com',
  'www.gmail.com',
  'gmx.de',
  'web.de',
  'outlook.com',
  'yahoo.co.uk',
  'qq.com',
  'proton.me',
  'tuta.com',
  'tutanota.com',
  'mailbox.org',
  'hey.com',
  'privaterelay.appleid.com',
])('the public mail host %s is the domain of no company', (domain) => {
  expect(messageOf({ domain })).toBe('must be a domain of one company, not of a public mail host')
})

test.each(['acme.za.com', 'acme.net.ua', 'acme.github.io', 'apple.com', 'www.acme.example'])(
  '%s is the domain of a company',
  (domain) => {
    expect(messageOf({ domain })).toBeUndefined()
  },
)

test('a website is a URL, and empty texts are none', () => {
  expect(messageOf({ website: 'acme.example' })).toBe('must be a URL such as https://example.com')
  expect(messageOf({ website: 'javascript:alert(1)' })).toBe('must be a URL such as https://example.com')
  expect(NewCompany.parse({ name: 'Acme', website: '', phone: '' })).toMatchObject({ website: null, phone: null })
})

test('a taken domain or external id is an error that names the company and the field', async () => {
  const { id: companyId } = await createTestCompany(ctx, { domain: 'acme.example', externalId: 'org_1' })
  const taken = (path: string) => ({ code: 'already_exists', details: { companyId }, issues: [{ path }] })
  const create = (input: CompanyInput) => createCompany(ctx, NewCompany.parse({ name: 'Other', ...input }))
  await expect(create({ domain: 'acme.example' })).rejects.toMatchObject(taken('domain'))
  await expect(create({ externalId: 'org_1' })).rejects.toMatchObject(taken('externalId'))
  const other = await create({ domain: 'other.example' })
  await expect(updateCompany(ctx, other.id, { domain: 'acme.example' })).rejects.toMatchObject(taken('domain'))
  await expect(updateCompany(ctx, other.id, { externalId: 'org_1' })).rejects.toMatchObject(taken('externalId'))
  await createTestCompany(await createTestCtx(database.db), { domain: 'acme.example', externalId: 'org_1' })
})

test('a listing filters by search, domain, external id, owner, tags and custom values', async () => {
  await createCustomField(ctx, { object: 'COMPANY', key: 'tier', label: 'Tier', type: 'TEXT', options: [] })
  const ownerId = await createTestMember(ctx)
  await createTestCompany(ctx, { name: 'Müller AG', domain: 'mueller.example', tags: ['vip', 'eu'] })
  await createTestCompany(ctx, { name: 'Globex', externalId: 'org_2', ownerId, tags: ['vip'] })
  await createTestCompany(ctx, { name: 'Initech', customFieldValues: { tier: 'gold' } })
  expect(await find({})).toEqual(['Initech', 'Globex', 'Müller AG'])
  expect(await find({ search: 'muller' })).toEqual(['Müller AG'])
  expect(await find({ search: 'glboex' })).toEqual(['Globex'])
  expect(await find({ domain: 'MUELLER.example' })).toEqual(['Müller AG'])
  expect(await find({ externalId: 'org_2' })).toEqual(['Globex'])
  expect(await find({ ownerId })).toEqual(['Globex'])
  expect(await find({ tag: 'vip' })).toEqual(['Globex', 'Müller AG'])
  expect(await find({ tag: ['vip', 'eu'] })).toEqual(['Müller AG'])
  expect(await find({ 'customField.tier': 'gold' })).toEqual(['Initech'])
  expect(await find({ createdBefore: '2020-01-01' })).toEqual([])
})

test('a company of a member who leaves has no owner, with one event', async () => {
  const [ownerId, other] = [await createTestMember(ctx), await createTestMember(ctx)]
  const company = await createTestCompany(ctx, { ownerId })
  const kept = await createTestCompany(ctx, { ownerId: other })
  await removeMember(ctx, ownerId)
  expect(await readCompany(ctx, company.id)).toMatchObject({ ownerId: null })
  expect(await readCompany(ctx, kept.id)).toEqual(kept)
  const { data: activity } = await listCompanyActivity(ctx, company.id, ActivityQuery.parse({}))
  expect(activity.map(({ type }) => type)).toEqual(['company.updated', 'company.created'])
  expect(activity[0]?.data).toMatchObject({ changes: { ownerId: { from: ownerId, to: null } } })
})

test('a member leaves while a contact that names their company is written', async () => {
  const ownerId = await createTestMember(ctx)
  const { id } = await createTestCompany(ctx, { ownerId })
  const writing = await openTransaction(ctx.db, (db) => lockCompanies({ ...ctx, db }, [id]))
  await removeMember(ctx, ownerId)
  await writing.commit()
  expect(await readCompany(ctx, id)).toMatchObject({ ownerId: null })
})

test('an owner must be a member of the workspace', async () => {
  const company = await createTestCompany(ctx)
  const foreigner = await createTestMember(await createTestCtx(database.db))
  for (const ownerId of [foreigner, newId('usr')]) {
    const error = { code: 'validation_error', issues: [{ path: 'ownerId', message: 'User not found' }] }
    await expect(createTestCompany(ctx, { ownerId })).rejects.toMatchObject(error)
    await expect(updateCompany(ctx, company.id, { ownerId })).rejects.toMatchObject(error)
    await expect(upsertCompany(ctx, { name: 'x', domain: 'x.example', ownerId })).rejects.toMatchObject(error)
  }
})

test('the quota counts companies, also those of PUT', async () => {
  await setQuotas(ctx, { companies: 2 })
  await createTestCompany(ctx)
  await upsertCompany(ctx, { name: 'Acme', domain: 'acme.example' })
  await expect(createTestCompany(ctx)).rejects.toMatchObject({ code: 'quota_exceeded' })
  const third = upsertCompany(ctx, { name: 'Globex', domain: 'globex.example' })
  await expect(third).rejects.toMatchObject({ code: 'quota_exceeded' })
  await upsertCompany(ctx, { name: 'Acme Ltd', domain: 'acme.example' })
})
