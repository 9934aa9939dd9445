import type { Ctx } from '@rapport/core/request/context.ts'
import { updateForm, createForm, deleteForm } from '@rapport/core/forms/forms.ts'
import { type Form, FormInput } from '@rapport/core/forms/forms.schema.ts'
import {
  createTestDatabase,
  openTransaction,
  type TestDatabase,
  waitUntilBlocked,
} from '@rapport/testing/postgres/database.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newId } from '@rapport/core/kernel/ids.ts'
import { defaultTimings } from './server/api-timings.ts'
import { createPublicFormCache, type PublicFormCache, readPublicForm } from './public-form-cache.ts'

let database: TestDatabase
let ctx: Ctx
let form: Form
let cache: PublicFormCache
let lookups = 0
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  const counting = new Proxy(db, {
    get(target, name) {
      if (name === 'select') lookups += 1
      return Reflect.get(target, name, target) as unknown
    },
  })
  ctx = await createTestCtx(counting)
})
beforeEach(async () => {
  form = await createForm(ctx, FormInput.parse({ name: 'Before', fields: [{ label: 'Message', type: 'TEXT' }] }))
  cache = createPublicFormCache(defaultTimings.publicFormTtlMs)
  lookups = 0
})
afterAll(() => database.close())

const get = async (id = form.id, from = ctx) => cache.get(from, id)
const nameIn = async (from = cache) => (JSON.parse((await from.get(ctx, form.id)).body) as Form).name
const rename = (name = 'After') => updateForm({ ...ctx, db: database.db }, form.id, { name })
const notFound = { code: 'not_found', message: 'Form not found' }

test('1,000 concurrent requests, and those right after, share one lookup', async () => {
  const responses = await Promise.all(Array.from({ length: 1_000 }, () => get()))
  for (let count = 0; count < 10; count++) responses.push(await cache.get(ctx, form.id))
  expect(new Set(responses).size).toBe(1)
  expect(lookups).toBe(1)
})

test('returns the same response as an uncached read, even after a change', async () => {
  const read = () => readPublicForm({ ...ctx, db: database.db }, form.id)
  expect([await get(), await get()]).toEqual([await read(), await read()])
  await rename()
  cache.drop(ctx, form.id)
  expect(await get()).toEqual(await read())
})

test('does not cache a missing form; concurrent requests share the lookup', async () => {
  const missing = newId('frm')
  const ask = () => Promise.allSettled(Array.from({ length: 100 }, () => get(missing)))
  for (const response of await ask()) expect(response).toMatchObject({ status: 'rejected', reason: notFound })
  expect(lookups).toBe(1)
  await ask()
  expect(lookups).toBe(2)
})

test('a dropped form is read again, but not by another cache', async () => {
  const elsewhere = createPublicFormCache(60_000)
  expect([await nameIn(), await nameIn(elsewhere)]).toEqual(['Before', 'Before'])
  await rename()
  cache.drop(ctx, form.id)
  expect([await nameIn(), await nameIn(elsewhere)]).toEqual(['After', 'Before'])
  await deleteForm({ ...ctx, db: database.db }, form.id)
  cache.drop(ctx, form.id)
  await expect(get()).rejects.toMatchObject(notFound)
})

test('a cache expires within a second', async () => {
  expect(defaultTimings.publicFormTtlMs).toBeLessThan(1_000)
  const shortLived = createPublicFormCache(50)
  await nameIn(shortLived)
  await rename()
  await waitUntil(async () => (await nameIn(shortLived)) === 'After', { describe: 'the change is visible' })
})

test('a form dropped during a lookup fails no request, and the result is not cached', async () => {
  const locked = await openTransaction(database.db, (db) => db.execute('lock table forms in access exclusive mode'))
  const looking = Array.from({ length: 20 }, () => get())
  await waitUntilBlocked(database.db)
  cache.drop(ctx, form.id)
  const lookingAgain = get()
  await waitUntilBlocked(database.db, 2)
  await locked.commit()
  expect(await Promise.all([...looking, lookingAgain])).toHaveLength(21)
  expect(lookups).toBe(2)
  expect(await cache.get(ctx, form.id)).toBe(await lookingAgain)
})

test('a form evicted during its lookup fails no request', async () => {
  const missing = newId('frm')
  const others = Array.from({ length: 1_200 }, () => get(missing).catch(() => {}))
  const first = cache.get(ctx, form.id)
  for (let n = 0; n < 1_200; n++) {
    others.push(get(newId('frm'), { ...ctx, db: failing }).catch(() => {}))
  }
  expect(JSON.parse((await first).body)).toMatchObject({ name: 'Before' })
  await Promise.all(others)
})
const failing = new Proxy({} as Ctx['db'], {
  get() {
    throw new Error('There is no database')
  },
})
