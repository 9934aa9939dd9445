import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { freshEmail, startTestApi } from '../../../test/testing.ts'

test('rejects a request with two idempotency keys', async () => {
  const api = await startTestApi()
  const { key } = await api.signUp()
  const { port } = await api.listen()
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'idempotency-key': ['one', 'two'],
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({ port, method: 'POST', path: '/contacts', headers }, resolve).on('error', reject)
    sent.end(JSON.stringify({ email: freshEmail() }))
  })
  expect(await json(response)).toMatchObject({
    statusCode: 400,
    issues: [{ path: 'Idempotency-Key', message: 'must be sent only once' }],
  })
  await api.close()
})
