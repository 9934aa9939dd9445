import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { readSuppressions } from '../consent/consent-records.ts'
import { companies, contacts } from '../db/schema/index.ts'
import { newId } from '../kernel/ids.ts'
import { withQuotas } from '../kernel/quotas.ts'
import { createTestCompany, createTestCtx, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const readCompanies = () =>
  ctx.db
    .select({ name: companies.name, domain: companies.domain, externalId: companies.externalId })
    .from(companies)
    .where(eq(companies.workspaceId, ctx.workspaceId))
    .orderBy(companies.name)

const readPeople = () =>
  ctx.db
    .select({ email: contacts.email, companyId: contacts.companyId, company: contacts.company })
    .from(contacts)
    .where(eq(contacts.workspaceId, ctx.workspaceId))
    .orderBy(contacts.email)

test('an exported companyId links the contact again, and is left out elsewhere', async () => {
  const id = newId('cpy')
  await ctx.db.insert(companies).values({ workspaceId: ctx.workspaceId, id, name: 'Acme' })
  const foreign = await createTestCompany(await createTestCtx(database.db))
  const file = `email,companyId\na@example.com,${id}\nb@example.com,${foreign.id}\nc@example.com,4711\n`
  const record = await runTestImport(ctx, file)
  const leftOut = 'companyId: Company not found; left out'
  expect(record).toMatchObject({
    created: 3,
    failed: 0,
    errors: [
      { line: 3, message: leftOut },
      { line: 4, message: leftOut },
    ],
  })
  expect(await readPeople()).toEqual([
    { email: 'a@example.com', companyId: id, company: 'Acme' },
    { email: 'b@example.com', companyId: null, company: null },
    { email: 'c@example.com', companyId: null, company: null },
  ])
})

const file = `email,Company External ID,company_domain,Company Name,company
a@example.com,org_1,acme.example,Acme,
b@example.com,,ACME.example,Another name,
c@example.com,org_1,,,Own text
d@example.com,org_2,,,
e@example.com,,bücher.example,,Bücher GmbH
f@example.com,,,Text only,
g@example.com,NULL,gmail.com,,
h@example.com,1.5E+20,,,
`

test('rows create each company once, and copy its name unless they have a text', async () => {
  const record = await runTestImport(ctx, file, { createCompanies: 'true' })
  expect(record).toMatchObject({ created: 8, failed: 0 })
  expect(record.errors).toEqual([
    {
      line: 8,
      message: 'companyDomain: must be a domain of one company, not of a public mail host; left out',
    },
    { line: 9, message: expect.stringMatching(/^companyExternalId: was shortened by a spreadsheet.*; left out$/) },
  ])
  expect(await readCompanies()).toEqual([
    { name: 'Acme', domain: 'acme.example', externalId: 'org_1' },
    { name: 'Bücher GmbH', domain: 'xn--bcher-kva.example', externalId: null },
    { name: 'org_2', domain: null, externalId: 'org_2' },
  ])
  const people = await readPeople()
  expect(people.map(({ email, companyId, company }) => [email[0], companyId !== null, company])).toEqual([
    ['a', true, 'Acme'],
    ['b', true, 'Acme'],
    ['c', true, 'Own text'],
    ['d', true, 'org_2'],
    ['e', true, 'Bücher GmbH'],
    ['f', false, 'Text only'],
    ['g', false, null],
    ['h', false, null],
  ])
  expect(new Set(people.slice(0, 3).map(({ companyId }) => companyId)).size).toBe(1)
  expect(await listEventTypes(ctx)).toEqual(['import.completed'])
})

test('without createCompanies, an unknown company is an error of its row and column', async () => {
  await createTestCompany(ctx, { name: 'Known', domain: 'acme.example' })
  const record = await runTestImport(ctx, file)
  const message = 'no company has it: create the company, or send createCompanies=true'
  expect(record).toMatchObject({ created: 5, failed: 3 })
  expect(record.errorCounts).toEqual(
    expect.arrayContaining([
      { column: 'companyExternalId', message, count: 2 },
      { column: 'companyDomain', message, count: 1 },
    ]),
  )
  expect(await readCompanies()).toHaveLength(1)
})

test('a known company gets a key that it lacks; keys of two companies are an error', async () => {
  await createTestCompany(ctx, { name: 'One', domain: 'one.example', externalId: 'org_1' })
  await createTestCompany(ctx, { name: 'Two', domain: 'two.example', externalId: 'org_2' })
  await createTestCompany(ctx, { name: 'Three', domain: 'three.example' })
  const rows = 'a@example.com,org_1,two.example,New\nb@example.com,org_3,three.example,New\nc@example.com,org_3,,New\n'
  const header = 'email,companyExternalId,companyDomain,companyName\n'
  const record = await runTestImport(ctx, header + rows, { createCompanies: 'true' })
  const message = 'externalId and domain belong to different companies'
  expect(record).toMatchObject({ created: 2, failed: 1, errorCounts: [{ column: 'companyExternalId', message }] })
  expect(await readCompanies()).toEqual([
    { name: 'One', domain: 'one.example', externalId: 'org_1' },
    { name: 'Three', domain: 'three.example', externalId: 'org_3' },
    { name: 'Two', domain: 'two.example', externalId: 'org_2' },
  ])
})

test('a dry run counts the same, and creates no company', async () => {
  const record = await runTestImport(ctx, file, { createCompanies: 'true', dryRun: 'true' })
  expect(record).toMatchObject({ created: 8, failed: 0 })
  expect(await readCompanies()).toEqual([])
})

test('with events=each, a company that a row creates or gives a key has an event', async () => {
  await createTestCompany(ctx, { name: 'One', domain: 'one.example' })
  const lines = [
    { email: 'a@example.com', companyDomain: 'acme.example', companyName: 'Acme', company: null },
    { email: 'b@example.com', companyDomain: 'one.example', companyExternalId: 'org_1' },
  ]
  const content = lines.map((line) => JSON.stringify(line)).join('\n')
  await runTestImport(ctx, content, { format: 'ndjson', createCompanies: 'true', events: 'each' })
  expect((await listEventTypes(ctx)).slice(1)).toEqual([
    'company.created',
    'company.updated',
    'contact.created',
    'contact.created',
    'import.completed',
  ])
  expect(await readPeople()).toMatchObject([{ company: 'Acme' }, { company: 'One' }])
})

test('createCompanies needs a column with a key, as a name identifies no company', async () => {
  const importing = runTestImport(ctx, 'email,companyName\na@example.com,Acme\n', { createCompanies: 'true' })
  await expect(importing).rejects.toMatchObject({
    issues: [
      {
        path: 'createCompanies',
        message: 'needs a column companyExternalId or companyDomain: a name does not identify a company',
      },
    ],
  })
})

test('rows beyond the quota of companies fail, and the others are imported', async () => {
  const quotas = withQuotas(ctx.settings.quotas, { companies: 1 })
  const limited = { ...ctx, settings: { ...ctx.settings, quotas } }
  const record = await runTestImport(limited, file, { createCompanies: 'true' })
  expect(record).toMatchObject({ created: 6, failed: 2 })
  expect(await readCompanies()).toHaveLength(1)
})

test('an update keeps the company of a row without one, and changes it otherwise', async () => {
  await runTestImport(ctx, file, { createCompanies: 'true' })
  const rows = 'email,companyDomain\na@example.com,\nd@example.com,acme.example\n'
  expect(await runTestImport(ctx, rows, { onConflict: 'update' })).toMatchObject({ updated: 1, skipped: 1 })
  const [a, , , d] = await readPeople()
  expect(d).toMatchObject({ companyId: a?.companyId, company: 'org_2' })
})

test('the row with the name decides it; a long key is cut between characters', async () => {
  const long = `${'x'.repeat(199)}😀zz`
  const rows = `email,companyDomain,companyName,companyExternalId\na@example.com,acme.example,Acme,\nb@example.com,acme.example,,\nc@example.com,,,${long}\n`
  expect(await runTestImport(ctx, rows, { createCompanies: 'true' })).toMatchObject({ created: 3, failed: 0 })
  expect(await readCompanies()).toEqual([
    { name: 'Acme', domain: 'acme.example', externalId: null },
    { name: 'x'.repeat(199), domain: null, externalId: long },
  ])
})

test('an opt-out counts also in a row whose company is unknown', async () => {
  const rows = 'email,status,companyDomain\na@example.com,UNSUBSCRIBED,none.example\nb@example.com,,none.example\n'
  const record = await runTestImport(ctx, rows)
  expect(record.errors).toMatchObject([
    { line: 2, message: expect.stringContaining('left out') },
    { line: 3, message: expect.stringMatching(/no company has it.*createCompanies=true$/) },
  ])
  expect(await readSuppressions(ctx, { email: 'a@example.com' })).toMatchObject([{ reason: 'OPTED_OUT' }])
})
