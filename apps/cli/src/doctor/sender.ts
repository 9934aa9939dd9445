/** What DNS says of the address that mails come from: whoever gets them looks there. */
import { createPublicKey } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { type DkimKey, dkimKeyOf } from '@rapport/core/runtime/config.ts'
import { mailDomain } from '@rapport/core/mail/outgoing-mail.ts'
import { type Check, findingsAbout, type Finding } from './finding.ts'

/** The text records of a name; none when there is no such name. */
type ReadText = (name: string) => Promise<string[]>

/** Names that no mail server outside can know (RFC 2606, 6761, 6762). */
const reservedDomain = /(^|\.)(localhost|test|invalid|local|internal|example|example\.(com|net|org))$/i

export const senderCheck: Check = {
  about: 'Sender',
  async run({ config, dnsServers }) {
    if (!config.MAIL_FROM) return []
    const domain = mailDomain(config.MAIL_FROM)
    const { warn } = findingsAbout('Sender')
    if (reservedDomain.test(domain) && !dnsServers) {
      return [warn(`nobody outside knows ${domain}`, 'Set MAIL_FROM to an address of yours before mails go to people.')]
    }
    const readText = openReader(dnsServers)
    const findings = await Promise.all([
      orUnknown('SPF', () => judgeSpf(readText, domain)),
      orUnknown('DKIM', () => judgeDkim(readText, domain, dkimKeyOf(config))),
      orUnknown('DMARC', () => judgeDmarc(readText, domain)),
    ])
    return findings.flat()
  },
}

function openReader(servers: readonly string[] | undefined): ReadText {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  if (servers) resolver.setServers(servers)
  return async (name) => {
    try {
      // A long record comes in pieces, which mean nothing.
      return (await resolver.resolveTxt(name)).map((pieces) => pieces.join(''))
    } catch (error) {
      if (['ENOTFOUND', 'ENODATA'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
      throw error
    }
  }
}

async function orUnknown(about: string, judge: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await judge()
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException
    const advice = 'See the name server of this machine, or name another: --dns-server.'
    return [findingsAbout(about).warn(`not known, as DNS does not answer (${code})`, advice)]
  }
}

async function judgeSpf(readText: ReadText, domain: string): Promise<Finding[]> {
  const { ok, warn, fail } = findingsAbout('SPF')
  const records = (await readText(domain)).filter((text) => /^v=spf1( |$)/i.test(text))
  const [record = ''] = records
  if (records.length === 0) {
    return [
      warn(`${domain} says not who may send for it`, 'Add the TXT record that the provider of your mail server names.'),
    ]
  }
  if (records.length > 1) return [fail(`${domain} has ${records.length} records, so none counts`, 'Make one of them.')]
  if (/(^| )\+?all( |$)/i.test(record)) {
    return [fail(`${domain} lets everybody send for it (${record})`, 'End the record with ~all or -all.')]
  }
  return [ok(`${domain}: ${record}`)]
}

async function judgeDkim(readText: ReadText, mailFrom: string, key: DkimKey | undefined): Promise<Finding[]> {
  const { ok, warn, fail } = findingsAbout('DKIM')
  if (!key) return [ok('Rapport signs nothing: the mail server has to')]
  const name = `${key.selector}._domainkey.${key.domain}`
  const records = (await readText(name)).filter((text) => /(^|;)\s*p=/.test(text))
  const [record = ''] = records
  const publicKey = createPublicKey(key.privateKey)
  const expected = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const wanted = `v=DKIM1; k=rsa; p=${expected}`
  if (records.length === 0) return [fail(`there is no key at ${name}`, `Add a TXT record there: ${wanted}`)]
  if (records.length > 1) return [fail(`${name} has ${records.length} keys, so none counts`, 'Leave one of them.')]
  const tag = (wanted: string) =>
    new RegExp(`(?:^|;)\\s*${wanted}\\s*=([^;]*)`).exec(record)?.[1]?.replace(/\s/g, '') ?? ''
  const published = tag('p')
  if (published === '') return [fail(`the key at ${name} is revoked`, `Change the TXT record there: ${wanted}`)]
  if (published !== expected && published !== pkcs1Of(publicKey)) {
    return [fail(`the key at ${name} is not that of DKIM_PRIVATE_KEY`, `Change the TXT record there: ${wanted}`)]
  }
  return [
    ok(`the key at ${name} is that of DKIM_PRIVATE_KEY`),
    ...(isAligned(key.domain, mailFrom)
      ? []
      : [warn(`${key.domain} signs for ${mailFrom}, which DMARC does not count`, 'Sign as the domain of MAIL_FROM.')]),
    ...(/(^|:)y(:|$)/.test(tag('t'))
      ? [warn('the key is marked as being tested (t=y), so that signatures count for nothing', 'Take t=y out.')]
      : []),
    ...((publicKey.asymmetricKeyDetails?.modulusLength ?? 0) < 2048
      ? [warn('the key has less than 2048 bits', 'Make a longer one, under another selector.')]
      : []),
  ]
}

/** Some publish the bare RSA key (RFC 8017), as RFC 6376 has it; most the one with its algorithm before it. */
const pkcs1Of = (key: ReturnType<typeof createPublicKey>) =>
  key.export({ type: 'pkcs1', format: 'der' }).toString('base64')

/** The same domain, or one below the other: as DMARC counts it unless it is told to be strict. */
const isAligned = (one: string, other: string) =>
  [`.${one}`.endsWith(`.${other}`), `.${other}`.endsWith(`.${one}`)].includes(true)

async function judgeDmarc(readText: ReadText, domain: string): Promise<Finding[]> {
  const { ok, warn, fail } = findingsAbout('DMARC')
  const labels = domain.split('.')
  // What a domain does not say itself, the one above it says.
  const candidates = labels.slice(0, -1).map((_label, at) => labels.slice(at).join('.'))
  for (const candidate of candidates) {
    const records = (await readText(`_dmarc.${candidate}`)).filter((text) => /^v=DMARC1\s*(;|$)/.test(text))
    if (records.length > 1) return [fail(`${candidate} has ${records.length} records, so none counts`, 'Leave one.')]
    if (records[0] !== undefined) return [ok(`${candidate}: ${records[0]}`)]
  }
  const advice = `Add a TXT record at _dmarc.${domain}: v=DMARC1; p=none; rua=mailto:you@${domain}`
  return [warn(`${domain} has none, and the large mailboxes refuse newsletters without`, advice)]
}
