import type { LookupAddress } from 'node:dns'
import { lookup, Resolver, TIMEOUT } from 'node:dns/promises'
import { createFairSlots } from '@rapport/core/kernel/concurrency/fair-slots.ts'

export interface NameResolver {
  /** Resolves a hostname for a drain. Drains take turns. */
  resolve(hostname: string, drain: string): Promise<LookupAddress[]>
  close(): void
}

const maxSystemLookups = 2

/**
 * Resolves a hostname to its addresses. `dns.lookup` blocks one of the process's four libuv threads per call, so that
 * four slow names would delay all other lookups. Names are therefore resolved with `dns.resolve`, which needs no
 * thread. `dns.lookup`, which also reads the hosts file, is the fallback for names without a DNS record: two at a time,
 * one of a drain, and none after the connection has timed out.
 */
export function openNameResolver(
  { nameQueryTimeoutMs, connectTimeoutMs }: { nameQueryTimeoutMs: number; connectTimeoutMs: number },
  servers?: readonly string[],
): NameResolver {
  const resolver = new Resolver({ timeout: nameQueryTimeoutMs, tries: 2 })
  if (servers) resolver.setServers(servers)
  const slots = createFairSlots<string>(maxSystemLookups)

  async function resolveByDns(hostname: string): Promise<LookupAddress[]> {
    const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = results.flatMap((result, index) =>
      result.status === 'fulfilled' ? result.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    )
    const failure = results.find((result) => result.status === 'rejected')
    if (addresses.length === 0 && failure) throw failure.reason
    return addresses
  }

  async function resolveBySystem(hostname: string, drain: string): Promise<LookupAddress[]> {
    if (!(await slots.acquire(drain, connectTimeoutMs)))
      throw Object.assign(new Error(`${hostname}: the lookups before it take too long`), { code: TIMEOUT })
    try {
      return await lookup(hostname, { all: true })
    } finally {
      slots.release(drain)
    }
  }

  return {
    async resolve(hostname, drain) {
      // A DNS server could return another address for localhost.
      if (/(^|\.)localhost\.?$/i.test(hostname)) return resolveBySystem(hostname, drain)
      try {
        return await resolveByDns(hostname)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === TIMEOUT) throw error
        return resolveBySystem(hostname, drain)
      }
    },
    close: () => resolver.cancel(),
  }
}
