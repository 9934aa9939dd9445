/** Checks that bounces reach a worker: the MX record of the return path, and the port or mailbox that receives them. */
import { connect } from 'node:net'
import { createDnsReader, DnsFailure } from '@rapport/core/domains/dns.ts'
import { rootMessageOf } from '@rapport/core/kernel/errors.ts'
import { checkMailbox } from './mailbox.ts'
import { type Check, dnsServersOf, findingsAbout, type Finding } from './finding.ts'

const { ok, warn, fail } = findingsAbout('Bounces')

export const bouncesCheck: Check = {
  about: 'Bounces',
  async run(input) {
    const { config } = input
    const { RETURN_PATH_DOMAIN: domain, BOUNCE_PORT, BOUNCE_IMAP_URL } = config
    const isReceiving = BOUNCE_PORT !== undefined || BOUNCE_IMAP_URL !== undefined
    if (domain === undefined && !isReceiving) return []
    if (domain === undefined)
      return [warn('no email has a return path', 'Set RETURN_PATH_DOMAIN, to which servers send bounces.')]
    const none = warn(
      'no worker receives bounces',
      'Set BOUNCE_PORT or BOUNCE_IMAP_URL, unless a provider reports them.',
    )
    // At once, as each may take most of the time of the check.
    const found = await Promise.all([
      checkExchanges(domain, dnsServersOf(input)),
      BOUNCE_PORT === undefined ? [] : checkPort(BOUNCE_PORT, config.BOUNCE_HOST),
      BOUNCE_IMAP_URL === undefined ? [] : checkMailbox(BOUNCE_IMAP_URL),
    ])
    return isReceiving ? found.flat() : [...found.flat(), none]
  },
}

async function checkExchanges(domain: string, dnsServers: readonly string[] | undefined): Promise<Finding[]> {
  try {
    const hosts = await createDnsReader(dnsServers).readExchanges(domain)
    if (hosts.length > 0) return [ok(`${domain} has the mail server ${hosts.join(', ')}`)]
    return [fail(`${domain} has no MX record, so bounces are lost`, 'Publish one: see docs/bounces.md.')]
  } catch (error) {
    if (!(error instanceof DnsFailure)) throw error
    return [warn(`unknown, because DNS does not respond (${error.message})`, 'Check the name server of this machine.')]
  }
}

/** Reads the greeting of the worker that listens. */
async function checkPort(port: number, host = '127.0.0.1'): Promise<Finding[]> {
  const local = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const where = `${host}:${port}`
  const socket = connect({ host: local, port, timeout: 2_500 })
  try {
    const greeting = await new Promise<string>((resolve, reject) => {
      socket.once('data', (chunk: Buffer) => resolve(chunk.toString()))
      socket.once('error', reject)
      socket.once('timeout', () => reject(new Error('no response')))
    })
    if (greeting.startsWith('220 ')) return [ok(`${where} receives bounces`)]
    return [fail(`${where} is not the port of a worker`, 'Another program uses BOUNCE_PORT: choose another one.')]
  } catch (error) {
    return [
      fail(`${where}: ${rootMessageOf(error)}`, 'Start a worker with BOUNCE_PORT, and run the doctor where it runs.'),
    ]
  } finally {
    socket.destroy()
  }
}
