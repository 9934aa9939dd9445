import { Resolver } from 'node:dns/promises'
import { TimeoutError, withTimeout } from '../kernel/concurrency/with-timeout.ts'

export interface DnsReader {
  /** The TXT records of a name, each joined from its strings. Aliases are followed. Empty if there is none. */
  readTexts(name: string): Promise<string[]>
  /** The target of a CNAME record, in lower case; undefined if there is none. */
  readAlias(name: string): Promise<string | undefined>
  /** The IPv4 and IPv6 addresses of a name, in any order. Aliases are followed. Empty if there is none. */
  readAddresses(name: string): Promise<string[]>
  /** The mail servers of a name, the preferred one first. Empty if there is none. */
  readExchanges(name: string): Promise<string[]>
}

/** No name server responded, or it could not tell. Says nothing about the records. */
export class DnsFailure extends Error {}

const queryTimeoutMs = 1_000
const maxWaitMs = 4_000
/** The name does not exist, or has no record of this type. */
const absent = ['ENOTFOUND', 'ENODATA']

/** Reads records with the given name servers, or with those of the machine. `deadlineMs` is for all queries together. */
export function createDnsReader(servers?: readonly string[], { deadlineMs = Infinity } = {}): DnsReader {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: 2 })
  if (servers) resolver.setServers(servers)
  const endsAt = performance.now() + deadlineMs
  const query = <Records>(result: Promise<Records>, none: Records) =>
    waitFor(result, { none, timeoutMs: Math.max(0, Math.min(maxWaitMs, endsAt - performance.now())) })
  return {
    async readTexts(name) {
      const records = await query(resolver.resolveTxt(name), [])
      // Node decodes the bytes as Latin-1.
      return records.map((strings) => Buffer.from(strings.join(''), 'latin1').toString())
    },
    async readAlias(name) {
      const [target] = await query(resolver.resolveCname(name), [])
      return target?.toLowerCase().replace(/\.$/, '')
    },
    async readAddresses(name) {
      const found = await Promise.all([query(resolver.resolve4(name), []), query(resolver.resolve6(name), [])])
      return found.flat()
    },
    async readExchanges(name) {
      const records = await query(resolver.resolveMx(name), [])
      return records.toSorted((one, other) => one.priority - other.priority).map(({ exchange }) => exchange)
    },
  }
}

async function waitFor<Records>(
  result: Promise<Records>,
  { none, timeoutMs }: { none: Records; timeoutMs: number },
): Promise<Records> {
  try {
    return await withTimeout(result, timeoutMs)
  } catch (error) {
    const { code = error instanceof TimeoutError ? 'ETIMEOUT' : String(error) } = error as NodeJS.ErrnoException
    if (absent.includes(code)) return none
    throw new DnsFailure(code)
  }
}
