import { expect, test } from 'vitest'
import { startTestApi } from '../../../test/testing.ts'

test('RATE_LIMIT_EXEMPT: requests from these networks are not counted on any route', async () => {
  const networks = '192.0.2.7, 2001:db8:1::/64'
  const exempting = await startTestApi({ environment: { RATE_LIMIT_EXEMPT: networks } })
  const call = async (from: string) =>
    (await exempting.call('POST', '/auth/forgot-password', { from, raw: '{' })).status
  const exempt = ['192.0.2.7', '192.0.2.7:40000', '::ffff:192.0.2.7', '2001:db8:1::1', '[2001:db8:1::2]:40000']
  // The last address is that of the client: the proxy appends it to what the client sent.
  const counted = ['192.0.2.8', '2001:db8:1:1::1', '192.0.2.7, 198.51.100.1']
  for (const from of exempt) {
    const statuses = []
    for (let count = 0; count < 7; count++) statuses.push(await call(from))
    expect([from, statuses.filter((status) => status !== 400)]).toEqual([from, []])
  }
  for (const from of counted) {
    for (let count = 0; count < 5; count++) expect(await call(from)).toBe(400)
    expect([from, await call(from)]).toEqual([from, 429])
  }
  const unknown = await exempting.call('GET', '/nope', { from: '192.0.2.7' })
  expect(unknown.headers).not.toHaveProperty('x-ratelimit-limit')
  await exempting.close()
})

test('RATE_LIMIT_EXEMPT: x-forwarded-for of an untrusted peer exempts no client', async () => {
  const environment = { RATE_LIMIT_EXEMPT: '192.0.2.7', TRUST_PROXY: '' }
  const untrusting = await startTestApi({ environment })
  const call = () => untrusting.call('POST', '/auth/forgot-password', { from: '192.0.2.7', raw: '{' })
  for (let count = 0; count < 5; count++) expect((await call()).status).toBe(400)
  expect((await call()).status).toBe(429)
  await untrusting.close()
})
