/** Checks the DNS records of the sender's domain, which receiving mail servers verify. */
import { createPublicKey } from 'node:crypto'
import { createDnsReader, DnsFailure } from '@rapport/core/domains/dns.ts'
import { isAligned } from '@rapport/core/domains/domain-name.ts'
import { type DkimKey, dkimKeyOf } from '@rapport/core/runtime/config.ts'
import { mailDomain } from '@rapport/core/mail/outgoing-mail.ts'
import { type Check, dnsServersOf, findingsAbout, type Finding } from '../finding.ts'

type ReadText = (name: string) => Promise<string[]>

/** Reserved names, which do not exist in public DNS (RFC 2606, 6761, 6762). */
const reservedDomain = /(^|\.)(localhost|test|invalid|local|internal|example|example\.(com|net|org))$/i

export const senderCheck: Check = {
  about: 'Sender',
  async run(input) {
    const { config } = input
    const dnsServers = dnsServersOf(input)
    if (!config.MAIL_FROM) return []
    const domain = mailDomain(config.MAIL_FROM)
    const { warn } = findingsAbout('Sender')
    if (reservedDomain.test(domain) && !dnsServers) {
      return [
        warn(
          `${domain} does not exist in public DNS`,
          'Set MAIL_FROM to an address of your domain before sending emails.',
        ),
      ]
    }
    const dns = createDnsReader(dnsServers)
    const readText: ReadText = (name) => dns.readTexts(name)
    const findings = await Promise.all([
      warnIfUnknown('SPF', () => checkSpf(readText, domain)),
      warnIfUnknown('DKIM', () => checkDkim(readText, domain, dkimKeyOf(config))),
      warnIfUnknown('DMARC', () => checkDmarc(readText, domain)),
    ])
    return findings.flat()
  },
}

async function warnIfUnknown(about: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof DnsFailure)) throw error
    const advice = 'Check the name server of this machine, or use another with --dns-server.'
    return [findingsAbout(about).warn(`unknown, because DNS does not respond (${error.message})`, advice)]
  }
}

async function checkSpf(readText: ReadText, domain: string): Promise<Finding[]> {
  const { ok, warn, fail } = findingsAbout('SPF')
  const records = (await readText(domain)).filter((text) => /^v=spf1( |$)/i.test(text))
  const [record = ''] = records
  if (records.length === 0) {
    return [warn(`${domain} has no SPF record`, 'Add the TXT record that the provider of your mail server documents.')]
  }
  if (records.length > 1)
    return [fail(`${domain} has ${records.length} records; only one is allowed`, 'Merge them into one.')]
  if (/(^| )\+?all( |$)/i.test(record)) {
    return [fail(`${domain} allows any server to send for it (${record})`, 'End the record with ~all or -all.')]
  }
  return [ok(`${domain}: ${record}`)]
}

async function checkDkim(readText: ReadText, mailFrom: string, key: DkimKey | undefined): Promise<Finding[]> {
  const { ok, warn, fail } = findingsAbout('DKIM')
  if (!key) return [ok(`Rapport does not sign emails from ${mailFrom}: the mail server must sign them`)]
  const name = `${key.selector}._domainkey.${key.domain}`
  const records = (await readText(name)).filter((text) => /(^|;)\s*p=/.test(text))
  const [record = ''] = records
  const publicKey = createPublicKey(key.privateKey)
  const expected = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const wanted = `v=DKIM1; k=rsa; p=${expected}`
  if (records.length === 0) return [fail(`there is no key at ${name}`, `Add a TXT record there: ${wanted}`)]
  if (records.length > 1) return [fail(`${name} has ${records.length} keys; only one is allowed`, 'Remove the others.')]
  const tag = (wanted: string) =>
    new RegExp(`(?:^|;)\\s*${wanted}\\s*=([^;]*)`).exec(record)?.[1]?.replace(/\s/g, '') ?? ''
  const published = tag('p')
  if (published === '') return [fail(`the key at ${name} is revoked`, `Change the TXT record there: ${wanted}`)]
  if (published !== expected && published !== pkcs1Of(publicKey)) {
    return [fail(`the key at ${name} does not match DKIM_PRIVATE_KEY`, `Change the TXT record there: ${wanted}`)]
  }
  return [
    ok(`the key at ${name} matches DKIM_PRIVATE_KEY`),
    ...(isAligned(key.domain, mailFrom)
      ? []
      : [
          warn(
            `DMARC ignores the signature: DKIM_DOMAIN ${key.domain} does not match ${mailFrom}`,
            'Set DKIM_DOMAIN to the domain of MAIL_FROM.',
          ),
        ]),
    ...(/(^|:)y(:|$)/.test(tag('t'))
      ? [warn('the key is marked as a test key (t=y), so receivers ignore signatures', 'Remove t=y from the record.')]
      : []),
    ...((publicKey.asymmetricKeyDetails?.modulusLength ?? 0) < 2048
      ? [warn('the key has less than 2048 bits', 'Create a longer key under another selector.')]
      : []),
  ]
}

/** RFC 6376 specifies the bare RSA key (RFC 8017), but most domains publish a key with its algorithm (SPKI). */
const pkcs1Of = (key: ReturnType<typeof createPublicKey>) =>
  key.export({ type: 'pkcs1', format: 'der' }).toString('base64')

async function checkDmarc(readText: ReadText, domain: string): Promise<Finding[]> {
  const { ok, warn, fail } = findingsAbout('DMARC')
  const labels = domain.split('.')
  // A domain without a record uses that of its parent domain.
  const candidates = labels.slice(0, -1).map((_label, at) => labels.slice(at).join('.'))
  for (const candidate of candidates) {
    const records = (await readText(`_dmarc.${candidate}`)).filter((text) => /^v=DMARC1\s*(;|$)/.test(text))
    if (records.length > 1)
      return [fail(`${candidate} has ${records.length} records; only one is allowed`, 'Remove the others.')]
    if (records[0] !== undefined) return [ok(`${candidate}: ${records[0]}`)]
  }
  const advice = `Add a TXT record at _dmarc.${domain}: v=DMARC1; p=none; rua=mailto:you@${domain}`
  return [warn(`${domain} has no DMARC record; large mailbox providers reject newsletters without one`, advice)]
}
