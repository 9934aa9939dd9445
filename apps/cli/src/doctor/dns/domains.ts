/** Checks the DNS records of the domains that workspaces send from. */
import { checkRecords } from '@rapport/core/domains/check-records.ts'
import { createDnsReader, type DnsReader } from '@rapport/core/domains/dns.ts'
import { type CheckResult, type DomainRow, recordsOf } from '@rapport/core/domains/domain-records.ts'
import { listSendingDomains } from '@rapport/core/domains/sending-domains.ts'
import { TimeoutError, withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import { formatCount } from '../../terminal.ts'
import { type Check, type CheckInput, dnsServersOf, findingsAbout, type Finding } from '../finding.ts'

const { ok, warn, fail } = findingsAbout('Domains')
const maxChecked = 50
/** Sooner than the doctor gives up: a slow name server of one workspace hides no finding about the others. */
const timeoutMs = 2_000

export const domainsCheck: Check = {
  about: 'Domains',
  async run({ database, config, dnsServers }) {
    if (!database) return []
    const { rows, count } = await listSendingDomains(database.db, maxChecked)
    if (count === 0) return []
    const dns = createDnsReader(dnsServersOf({ config, dnsServers }))
    const found = await Promise.all(rows.map((row) => checkDomain(dns, row, config)))
    const findings = found.flat()
    if (findings.length === 0) findings.push(ok(`the records of ${formatCount(rows.length, 'domain')} are published`))
    const unchecked = count - rows.length
    return unchecked > 0 ? [...findings, ok(`not checked: ${formatCount(unchecked, 'more domain')}`)] : findings
  },
}

/** One finding for a domain, unless all of its records are right. */
async function checkDomain(dns: DnsReader, row: DomainRow, config: CheckInput['config']): Promise<Finding[]> {
  const { RETURN_PATH_DOMAIN: returnPathDomain, PUBLIC_URL: publicUrl } = config
  // Without a valid PUBLIC_URL, it is not known where the host should lead.
  const known = publicUrl === undefined ? { ...row, host: null } : row
  const records = recordsOf(known, {
    publicUrl: publicUrl ?? '',
    ...(returnPathDomain !== undefined && { returnPathDomain }),
  })
  const about = `${row.name} of ${row.workspaceId}`
  const results = await withTimeout(checkRecords(dns, row.name, records), timeoutMs).catch((error: unknown) => {
    if (error instanceof TimeoutError) return undefined
    throw error
  })
  if (results === undefined)
    return [warn(`${about}: unknown, because DNS does not respond`, 'Check the name server, or use --dns-server.')]
  const problems = results.filter(({ status }) => status !== 'VERIFIED')
  if (problems.length === 0) return []
  const message = `${about}: ${problems.map(({ problem }) => problem).join('. ')}`
  const advice = 'The owner of the domain publishes the records that GET /domains lists.'
  return [breaksSignatures(row, results) ? fail(message, advice) : warn(message, advice)]
}

/** Without the record of the key that signs, receivers reject or filter the emails. A FAILED domain no longer signs. */
const breaksSignatures = ({ status }: DomainRow, [signing]: readonly CheckResult[]) =>
  status === 'VERIFIED' && (signing?.status === 'PENDING' || signing?.status === 'FAILED')
