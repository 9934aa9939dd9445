import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { schemaCompilers } from '../schema-compilers.ts'
import { hashBody } from './idempotency.ts'

/** The hash of a request where its body has this schema. */
async function hashWith(body: z.ZodType, payload: object): Promise<string> {
  const app = Fastify()
  await app.register(schemaCompilers)
  app.post('/contacts', { schema: { body } }, async (request) => ({ hash: hashBody(request) }))
  return (await app.inject({ method: 'POST', url: '/contacts', payload })).json<{ hash: string }>().hash
}

test('a request is the same one where a release adds a field with a default', async () => {
  const before = z.strictObject({ email: z.string() })
  const after = before.extend({ note: z.string().nullable().default(null) })
  const sent = { email: ' Ada@example.com' }
  const hash = await hashWith(before, sent)
  expect(hash).toMatch(/^.{20,}$/)
  expect(await hashWith(after, sent)).toBe(hash)
  expect(await hashWith(after, { ...sent, note: null })).toBe(hash)
  expect(await hashWith(after, { ...sent, note: 'x' })).not.toBe(hash)
})
