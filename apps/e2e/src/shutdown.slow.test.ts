import { expect, test } from 'vitest'
import { startStack } from './stack.ts'

test.each(['stopped', 'hung'])('with Redis %s, every process exits with code 0 after SIGTERM', async (fault) => {
  const stack = await startStack('redis', { DASHBOARD_PASSWORD: 'for tests only' })
  const { key } = await stack.api.createWorkspace()
  if (fault === 'hung') stack.redis?.pause()
  else await stack.redis?.stop()
  const created = await stack.api.call('POST', '/contacts', { key, body: { email: 'ada@example.com' } })
  expect(created.status).toBe(201)
  await expect(stack.close()).resolves.toBeUndefined()
})
