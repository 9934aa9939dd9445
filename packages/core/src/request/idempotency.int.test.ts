import { expect, test } from 'vitest'
import { type RecordedResponse, runIdempotently } from './idempotency.ts'
import { deriveKeys } from '../kernel/crypto.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'

const database = useTestDatabase()

test('work whose answer was kept under a key that is gone is not done again, and says so', async () => {
  const ctx = await createTestCtx(database.db)
  const response: RecordedResponse = { status: 1, location: null, body: '{}' }
  const request = { key: 'once', hash: 'of the request', toResponse: () => undefined }
  let done = 0
  const work = async () => {
    done += 1
    return response
  }
  expect(await runIdempotently(ctx, request, work)).toEqual({ response, replayed: false })
  expect(await runIdempotently(ctx, request, work)).toEqual({ response, replayed: true })
  const keys = deriveKeys('another key, of forty characters or more, I guess', [])
  const later = { ...ctx, settings: { ...ctx.settings, keys } }
  await expect(runIdempotently(later, request, work)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('is gone'),
  })
  expect(done).toBe(1)
})
