import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createTestContact, createTestCtx, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { AppError } from '../kernel/errors.ts'
import { uuidOf } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { writeContactBatch } from './batch/write-contact-batch.ts'
import { createContact } from './create-contact.ts'
import type { ContactInput } from './contacts.schema.ts'
import { type MergePolicy, mergePolicies } from './merge-contact.ts'
import { upsertContact } from './upsert-contact.ts'
import { writeContacts } from './write-contacts.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

const write = (ctx: Ctx, inputs: ContactInput[], onExisting: MergePolicy | 'keep') =>
  inTransaction(ctx, (ctx) => writeContacts(ctx, inputs, { onExisting, emitsEvents: true }))

const text = fc.constantFrom('', 'A', 'B')
const email = fc.constantFrom('a@example.com', 'A@example.com', 'b@example.com', 'c@example.com', 'd@example.com')
const properties = fc.record(
  {
    firstName: text,
    company: text.map((value) => value || null),
    source: text.map((value) => value || null),
    tags: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')),
    customFieldValues: fc.dictionary(fc.constantFrom('plan', 'note'), fc.constantFrom('A', 'B', null), { maxKeys: 2 }),
  },
  { requiredKeys: [] },
)
const externalId = fc.constantFrom('x', 'X', 'y', null)
const keys: fc.Arbitrary<ContactInput> = fc.oneof(
  fc.record({ email }),
  fc.record({ email, externalId }),
  fc.record({ externalId }),
)
const input = fc.tuple(keys, properties).map(([keys, properties]): ContactInput => ({ ...keys, ...properties }))
const inputs = fc.array(input, { minLength: 1, maxLength: 10 })
const seed = chooseSeed(20_261_126)

/** Writes in a workspace of its own, and returns the contacts and the events of each, without ids and times. */
async function outcomeOf(writing: (ctx: Ctx) => Promise<unknown>) {
  const ctx = await createTestCtx(database.db)
  for (const key of ['plan', 'note']) await createCustomField(ctx, { key, label: key, type: 'TEXT', options: [] })
  await writing(ctx)
  const { rows } = await database.db.execute(sql`
    select type, data::jsonb - '{id,createdAt,updatedAt}'::text[] as data from events
    where workspace_id = ${uuidOf(ctx.workspaceId)} and type like 'contact.%' order by lower(data ->> 'email'), id`)
  const contacts = await database.db.execute(sql`
    select email, external_id, first_name, company, source, tags, custom_field_values from contacts
    where workspace_id = ${uuidOf(ctx.workspaceId)} order by lower(email)`)
  return { events: rows, contacts: contacts.rows }
}

async function one(ctx: Ctx, inputs: ContactInput[], onExisting: MergePolicy | 'keep') {
  for (const input of inputs) await write(ctx, [input], onExisting)
}

function ignoreRejection(error: unknown) {
  if (!(error instanceof AppError) || error.code === 'unavailable') throw error
}

/** Each writes the same inputs in two ways: one after the other, and together. */
const pairs: Record<
  string,
  (inputs: ContactInput[]) => [(ctx: Ctx) => Promise<unknown>, (ctx: Ctx) => Promise<unknown>]
> = {
  'PUT /contacts and a batch': (inputs) => [
    async (ctx) => {
      for (const input of inputs) await upsertContact(ctx, input).catch(ignoreRejection)
    },
    (ctx) => writeContactBatch(ctx, { contacts: inputs, onConflict: 'update' }, () => {}),
  ],
  'POST /contacts and a batch that skips': (inputs) => [
    async (ctx) => {
      for (const { email, ...input } of inputs)
        if (email) await createContact(ctx, { email, ...input }).catch(ignoreRejection)
    },
    (ctx) => writeContactBatch(ctx, { contacts: inputs, onConflict: 'skip' }, () => {}),
  ],
  'single rows and an import that updates': (inputs) => [
    (ctx) => one(ctx, inputs, mergePolicies.import),
    (ctx) => importAll(ctx, inputs, 'update'),
  ],
  'single rows and an import that skips': (inputs) => [
    (ctx) => one(ctx, inputs, 'keep'),
    (ctx) => importAll(ctx, inputs, 'skip'),
  ],
  'single sign-ups and several': (inputs) => [
    (ctx) => one(ctx, inputs, mergePolicies.fill),
    (ctx) => write(ctx, inputs, mergePolicies.fill),
  ],
}

function importAll(ctx: Ctx, inputs: ContactInput[], onConflict: string) {
  const file = inputs.map((input) => JSON.stringify(input)).join('\n')
  return runTestImport(ctx, file, { format: 'ndjson', onConflict, events: 'each' })
}

test.each(Object.keys(pairs))(`the same contacts and events: %s (seed ${seed})`, async (name) => {
  await fc.assert(
    fc.asyncProperty(inputs, async (inputs) => {
      const [separately, together] = pairs[name]?.(inputs) ?? []
      if (!separately || !together) throw new Error(`Unknown pair ${name}`)
      expect(await outcomeOf(together)).toEqual(await outcomeOf(separately))
    }),
    { seed, numRuns: countRuns({ gate: 10, full: 300 }) },
  )
})

test('above the quota, new contacts are rejected and known ones updated', async () => {
  const full = { ...ctx, settings: { ...ctx.settings, quotas: { ...ctx.settings.quotas, contacts: 2 } } }
  await createTestContact(full, { email: 'known@example.com' })
  const emails = ['new@example.com', 'too-many@example.com', 'known@example.com', 'NEW@example.com']
  const outcomes = await write(
    full,
    emails.map((email) => ({ email, firstName: email })),
    mergePolicies.update,
  )
  expect(outcomes.map(({ status }) => status)).toEqual(['CREATED', 'REJECTED', 'UPDATED', 'UPDATED'])
  expect(await write(full, [{ email: 'next@example.com' }], 'keep')).toMatchObject([
    { status: 'REJECTED', error: { code: 'quota_exceeded' } },
  ])
})

test('a contact that is created meanwhile is merged, with one event each', async () => {
  const creating = await openTransaction(
    ctx.db,
    async (db) => void (await createContact({ ...ctx, db }, { email: 'ada@example.com', firstName: 'Ada' })),
  )
  onTestFinished(() => creating.commit())
  const writing = write(
    ctx,
    [{ email: 'new@example.com' }, { email: 'ada@example.com', lastName: 'Lovelace' }],
    mergePolicies.update,
  )
  await waitUntilBlocked(database.db)
  await creating.commit()
  expect(await writing).toMatchObject([
    { status: 'CREATED' },
    { status: 'UPDATED', contact: { firstName: 'Ada', lastName: 'Lovelace' } },
  ])
  expect((await listEventTypes(ctx)).toSorted()).toEqual(['contact.created', 'contact.created', 'contact.updated'])
})
