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
