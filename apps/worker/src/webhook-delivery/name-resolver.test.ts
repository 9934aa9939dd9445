import type * as Dns from 'node:dns/promises'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, expect, test, vi } from 'vitest'

const local = { address: '127.0.0.1', family: 4 }
const lookups: string[] = []
const slow = Promise.withResolvers<(typeof local)[]>()
// Test files share modules. This file loads its own copy, which uses the mock, and discards it afterwards.
vi.mock('node:dns/promises', async (original) => ({
  ...(await original<typeof Dns>()),
  lookup: (hostname: string) => {
    lookups.push(hostname)
    return hostname === 'receiver.invalid' ? [local] : slow.promise
  },
}))
vi.resetModules()
const { openNameResolver } = await import('./name-resolver.ts')
afterAll(() => void vi.resetModules())

test('slow names of a drain that are not in DNS delay only its own names', async () => {
  const dns = await startNameServer()
  const resolver = openNameResolver({ nameQueryTimeoutMs: 1_500, connectTimeoutMs: 100 }, [dns.address])
  const failures: unknown[] = []
  const names = Array.from({ length: 5 }, (_, n) => resolver.resolve(`slow-${n}.invalid`, 'first'))
  const resolving = names.map((name) => name.catch((error: unknown) => failures.push(error)))
  await waitUntil(() => lookups.length > 0, { describe: 'a slow name is looked up' })
  expect(await resolver.resolve('receiver.invalid', 'second')).toEqual([local])
  await waitUntil(() => failures.length === 4, { describe: 'the other slow names failed' })
  for (const failure of failures) expect(failure).toMatchObject({ code: 'ETIMEOUT' })
  slow.resolve([local])
  await Promise.all(resolving)
  expect(lookups).toHaveLength(2)
  resolver.close()
  dns.close()
})
