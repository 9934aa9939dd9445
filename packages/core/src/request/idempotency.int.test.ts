import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { type RecordedResponse, runIdempotently } from './idempotency.ts'
import { deriveKeys } from '../kernel/crypto.ts'
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
