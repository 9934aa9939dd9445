import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { limitConcurrency } from '@rapport/core/kernel/concurrency/limit-concurrency.ts'

export interface NameResolver {
  resolve(hostname: string): Promise<LookupAddress[]>
  close(): void
}

const maxSystemLookups = 2

/**
 * Resolves a hostname to its addresses. `dns.lookup` blocks one of the process's four libuv threads per call, so that
 * four slow names would delay all other lookups. Names are therefore resolved with `dns.resolve`, which needs no
 * thread. `dns.lookup`, which also reads the hosts file, is the fallback for names without a DNS record, two at a time.
 */
export function openNameResolver(queryTimeoutMs: number, servers?: readonly string[]): NameResolver {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: 2 })
  if (servers) resolver.setServers(servers)
  const runLookup = limitConcurrency(maxSystemLookups)

  async function resolveByDns(hostname: string): Promise<LookupAddress[]> {
    const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = results.flatMap((result, index) =>
      result.status === 'fulfilled' ? result.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    )
    const failure = results.find((result) => result.status === 'rejected')
    if (addresses.length === 0 && failure) throw failure.reason
    return addresses
  }

  const resolveBySystem = (hostname: string): Promise<LookupAddress[]> =>
    runLookup(() => lookup(hostname, { all: true }))

  return {
    async resolve(hostname) {
      // A DNS server could return another address for localhost.
      if (/(^|\.)localhost\.?$/i.test(hostname)) return resolveBySystem(hostname)
      try {
        return await resolveByDns(hostname)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ETIMEOUT') throw error
        return resolveBySystem(hostname)
      }
    },
    close: () => resolver.cancel(),
  }
}
