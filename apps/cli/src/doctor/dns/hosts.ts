/** Checks the hosts of workspaces as a mail client reaches them. Their records are checked with those of the domains. */
import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { createDnsReader, type DnsReader } from '@rapport/core/domains/dns.ts'
import { urlAtHost } from '@rapport/core/domains/hosts/host-name.ts'
import { listCurrentHosts } from '@rapport/core/domains/sending-domains.ts'
import { reasonOf } from '../../describe-error.ts'
import { formatCount } from '../../terminal.ts'
import { checkCertificate } from '../certificate.ts'
import { type Check, dnsServersOf, findingsAbout, type Finding } from '../finding.ts'

const findings = findingsAbout('Hosts')
const { ok, warn, fail } = findings
const maxChecked = 50
const timeoutMs = 1_000
const advice = 'Links in emails of the workspace start with this URL. Check the proxy: see docs/deployment.md.'

export const hostsCheck: Check = {
  about: 'Hosts',
  async run({ database, config, dnsServers }) {
    const { PUBLIC_URL: publicUrl } = config
    if (!database || publicUrl === undefined) return []
    const { hosts, count } = await listCurrentHosts(database.db, maxChecked)
    if (count === 0) return []
    const dns = createDnsReader(dnsServersOf({ config, dnsServers }), { deadlineMs: timeoutMs })
    const found = await Promise.all(hosts.map((host) => checkHost(dns, new URL(urlAtHost({ publicUrl }, host)))))
    const problems = found.flat()
    if (problems.length === 0) problems.push(ok(`${formatCount(hosts.length, 'host')} of workspaces can be reached`))
    return count > hosts.length ? [...problems, ok(`not checked: ${count - hosts.length} more`)] : problems
  },
}

/** Returns the problems of a host. */
async function checkHost(dns: DnsReader, url: URL): Promise<Finding[]> {
  const [address] = await dns.readAddresses(url.hostname).catch(() => [])
  if (address === undefined) return [warn(`${url.hostname} has no address, or DNS does not respond`, advice)]
  const certificate = await judgeCertificate(url, address)
  if (certificate && certificate.level !== 'ok') return [certificate]
  const problem = await findProblem(url, address)
  return problem === undefined ? [] : [fail(problem, advice)]
}

async function judgeCertificate({ protocol, hostname: host, port }: URL, address: string) {
  if (protocol !== 'https:') return undefined
  const server = { host, address, port: Number(port || 443), timeoutMs }
  return checkCertificate(server, findings, { now: Date.now(), subject: `the certificate of ${host}` })
}

/** A redirect loses the body of a one-click unsubscribe, and a wrong server has no page. */
async function findProblem(base: URL, address: string): Promise<string | undefined> {
  const url = new URL(`${base.href.replace(/\/$/, '')}/embed/form.js`)
  try {
    const { status, location, type } = await readHead(url, address)
    if (status >= 300 && status < 400) return `${url.href} redirects to ${location}`
    const isRapport = status === 200 && type.startsWith('text/javascript')
    return isRapport ? undefined : `${url.href} returned ${status}, but is not a page of Rapport`
  } catch (error) {
    return `${url.href} does not respond (${reasonOf(error)})`
  }
}

function readHead(url: URL, address: string): Promise<{ status: number; location: string; type: string }> {
  const send = url.protocol === 'https:' ? requestSecure : requestPlain
  const options = {
    method: 'HEAD',
    host: address,
    port: url.port || (url.protocol === 'https:' ? 443 : 80),
    path: url.pathname,
    headers: { host: url.host },
    servername: url.hostname,
    agent: false,
    timeout: timeoutMs,
  } as const
  return new Promise((resolve, reject) => {
    const outgoing = send(options, (response) => {
      response.resume()
      const { location = '', 'content-type': type = '' } = response.headers
      resolve({ status: response.statusCode ?? 0, location, type })
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('timeout')))
    outgoing.on('error', reject).end()
  })
}
