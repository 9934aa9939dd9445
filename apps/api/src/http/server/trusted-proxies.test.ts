import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { trustedProxies } from './trusted-proxies.ts'

test.each([
  ['203.0.113.9, 127.0.0.1', '203.0.113.9'],
  ['203.0.113.9, 127.0.0.1:5000', '203.0.113.9'],
  ['198.51.100.1, 203.0.113.9:443, 127.0.0.2:1, 127.0.0.1:65535', '203.0.113.9:443'],
  ['203.0.113.9, [2001:db8::1]:443', '203.0.113.9'],
  ['203.0.113.9, [2001:db8::1], [::ffff:127.0.0.1]:80', '203.0.113.9'],
  ['203.0.113.9, 2001:db8::1', '203.0.113.9'],
  ['127.0.0.1:80, 203.0.113.9', '203.0.113.9'],
  ['203.0.113.9, 127.0.0.1:port', '127.0.0.1:port'],
  ['203.0.113.9, [127.0.0.1', '[127.0.0.1'],
])('x-forwarded-for: %s comes from %s', async (forwarded, client) => {
  const app = Fastify({ trustProxy: trustedProxies(['127.0.0.0/8', '2001:db8::1/128']) })
  app.get('/', async ({ ip }) => ip)
  const { body } = await app.inject({ url: '/', headers: { 'x-forwarded-for': forwarded } })
  expect(body).toBe(client)
})
