import { expect, test } from 'vitest'
import { welcome } from './welcome.ts'

const started = {
  apiUrl: 'http://localhost:3000',
  publicUrl: undefined,
  user: 'admin',
  password: 'open sesame',
  inboxUrl: 'http://localhost:1080',
  databaseUrl: undefined,
  apiKey: 'rpk_abc',
  dataDirectory: '.rapport',
}

test('shows all URLs and an example request with the API key', () => {
  const text = welcome(started)
  for (const part of ['/docs', '/queues', 'open sesame', 'http://localhost:1080']) expect(text).toContain(part)
  expect(text).toMatch(/curl http:\/\/localhost:3000\/contacts \\\n +-H 'Authorization: Bearer rpk_abc'/)
})

test('omits parts that were not started', () => {
  const text = welcome({ ...started, inboxUrl: undefined })
  expect(text).not.toContain('Inbox')
  expect(text).not.toContain('Database')
})
