import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { type RecordedResponse, runIdempotently } from './idempotency.ts'
import { deriveKeys } from '../kernel/crypto.ts'
import { uuidOf } from '../kernel/ids.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'

const database = useTestDatabase()

test('a repetition whose response cannot be decrypted is a conflict', async () => {
  const ctx = await createTestCtx(database.db)
  const response: RecordedResponse = { status: 1, location: null, body: '{}' }
  const request = { key: 'once', hash: 'hash of the request', toResponse: () => undefined }
  let runCount = 0
  const work = async () => {
    runCount += 1
    return response
  }
  expect(await runIdempotently(ctx, request, work)).toEqual({ response, replayed: false })
  expect(await runIdempotently(ctx, request, work)).toEqual({ response, replayed: true })
  const keys = deriveKeys('another secret key that has at least 32 characters', [])
  const later = { ...ctx, settings: { ...ctx.settings, keys } }
  await expect(runIdempotently(later, request, work)).rejects.toMatchObject({
    code: 'wrong_state',
    message: expect.stringContaining('cannot be decrypted'),
  })
  expect(runCount).toBe(1)
})

test('the hash of a request needs a key, and a former key still finds the record', async () => {
  const ctx = await createTestCtx(database.db)
  const response: RecordedResponse = { status: 1, location: null, body: '{}' }
  const request = { key: 'once', hash: 'hash of the request', toResponse: () => undefined }
  const run = (by: typeof ctx) => runIdempotently(by, request, () => Promise.resolve(response))
  const renewed = 'another secret key that has at least 32 characters'
  const withKeys = (secret: string, ...former: string[]) => ({
    ...ctx,
    settings: { ...ctx.settings, keys: deriveKeys(secret, former) },
  })
  const hashes: string[] = []
  for (const by of [ctx, withKeys(renewed)]) {
    await run(by)
    const { rows } = await database.pool.query<{ hash: string }>(
      'delete from idempotency_records where workspace_id = $1 returning request_hash as hash',
      [uuidOf(ctx.workspaceId)],
    )
    hashes.push(...rows.map(({ hash }) => hash))
  }
  expect([hashes.length, new Set([...hashes, request.hash]).size]).toEqual([2, 3])
  await run(ctx)
  expect(await run(withKeys(renewed, 'a secret that is known to every test'))).toEqual({ response, replayed: true })
})

test('an error that is recorded as the response rolls back what the request wrote', async () => {
  const ctx = await createTestCtx(database.db)
  const refused: RecordedResponse = { status: 409, location: null, body: '{"statusCode":409}' }
  const request = { key: 'once', hash: 'hash of the request', toResponse: () => refused }
  const fail = async ({ db }: Pick<typeof ctx, 'db'>) => {
    await db.execute(sql`update workspaces set name = 'changed'`)
    throw new Error('refused')
  }
  for (const replayed of [false, true])
    expect(await runIdempotently(ctx, request, fail)).toEqual({ response: refused, replayed })
  const { rows } = await database.pool.query(`select from workspaces where name = 'changed'`)
  expect(rows).toEqual([])
})
