import { lookup, Resolver } from 'node:dns/promises'
import { limitConcurrency } from '@rapport/core/kernel/limit-concurrency.ts'

export interface NameAddress {
  address: string
  family: number
}

export interface NameResolver {
  resolve(hostname: string): Promise<NameAddress[]>
  close(): void
}

const queryTimeoutMs = 1_500
const maxSystemLookups = 2

/**
 * Finds the addresses of a name. The system's own look-up holds one of the process's four threads for as long as the
 * answer takes, so that four names which resolve slowly, on purpose or not, would hold up everybody's. So DNS is asked
 * without a thread, as often at once as may be; the system, which knows what stands in the hosts file besides, is asked
 * only of names that DNS does not know, two at a time.
 */
export function openNameResolver(servers?: readonly string[]): NameResolver {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: 2 })
  if (servers) resolver.setServers(servers)
  const runLookup = limitConcurrency(maxSystemLookups)

  async function resolveByDns(hostname: string): Promise<NameAddress[]> {
    const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = results.flatMap((answer, at) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: at === 0 ? 4 : 6 })) : [],
    )
    const failure = results.find((answer) => answer.status === 'rejected')
    if (addresses.length === 0 && failure) throw failure.reason
    return addresses
  }

  const resolveBySystem = (hostname: string): Promise<NameAddress[]> => runLookup(() => lookup(hostname, { all: true }))

  return {
    async resolve(hostname) {
      // Not a matter of DNS, and its name servers may say otherwise.
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
