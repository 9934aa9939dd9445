/** Compares the DNS records of a domain with those that it needs. */
import { truncateText } from '../kernel/errors.ts'
import { showInvisible } from '../kernel/values/text.ts'
import type { CheckResult, ExpectedRecord } from './domain-records.ts'
import { DnsFailure, type DnsReader } from './dns.ts'
import { organizationalDomain } from './domain-name.ts'

type Outcome = Pick<CheckResult, 'status' | 'problem'>

const verified: Outcome = { status: 'VERIFIED', problem: null }
const missing = (problem: string): Outcome => ({ status: 'PENDING', problem })
const wrong = (problem: string): Outcome => ({ status: 'FAILED', problem })

const checks: Record<ExpectedRecord['purpose'], typeof checkDkim> = {
  DKIM: checkDkim,
  RETURN_PATH: checkReturnPath,
  DMARC: checkDmarc,
  HOST: checkHost,
}

/** Checks the records of a domain concurrently. A failure of DNS is a result too: `UNKNOWN`. */
export function checkRecords(
  dns: DnsReader,
  domain: string,
  records: readonly ExpectedRecord[],
): Promise<CheckResult[]> {
  return Promise.all(
    records.map(async (record) => {
      const { name, value } = record
      const outcome = await checks[record.purpose](dns, record, domain).catch(toUnknown)
      return { name, value, ...outcome }
    }),
  )
}

function toUnknown(error: unknown): Outcome {
  if (!(error instanceof DnsFailure)) throw error
  return { status: 'UNKNOWN', problem: `Unknown, because no name server answered (${error.message}). Try again later` }
}

async function checkDkim(dns: DnsReader, record: ExpectedRecord, domain: string): Promise<Outcome> {
  const { name, value } = record
  const texts = await dns.readTexts(name)
  const keys = texts.filter((text) => parseTags(text).has('p'))
  if (texts.length === 0) return missing(await describeMissing(dns, record, domain))
  const quoted = texts.find(isQuoted)
  if (quoted !== undefined && keys.length <= 1) return wrong(describeQuotes(name, quoted, value))
  if (keys.length === 0) return wrong(`The TXT record at ${name} is ${quote(texts[0])}: publish ${value}`)
  if (keys.length > 1)
    return wrong(`There are ${keys.length} TXT records with a key at ${name}: remove all but the one with ${value}`)
  const problem = findKeyProblem(parseTags(keys[0] ?? ''), parseTags(value).get('p') ?? '')
  return problem === undefined ? verified : wrong(`The key at ${name} ${problem}. Publish ${value}`)
}

/**
 * Quotation marks and backslashes are of the file format of a zone, and programs for texts set typographic marks. Entered in a
 * form, they become a part of the value.
 */
const isQuoted = (text: string) => /["\\\u2018-\u201f\u00ab\u00bb]|^['`]|&quot;/.test(text)
const describeQuotes = (name: string, text: string, value: string) =>
  `The TXT record at ${name} contains ${text.includes('\\') ? 'backslashes' : 'quotation marks'}: ${quote(text)}. Enter the value without them: ${value}`

/** The tags of a record such as `v=DKIM1; k=rsa; p=…` (RFC 6376 §3.2). Values without whitespace. */
function parseTags(text: string): Map<string, string> {
  const pairs = text.split(';').map((tag) => {
    const at = tag.indexOf('=')
    return [strip(tag.slice(0, Math.max(at, 0))), strip(tag.slice(at + 1))] as const
  })
  return new Map(pairs.filter(([name]) => name !== ''))
}

/** The whitespace of RFC 6376: receivers take no other, such as a no-break space. */
const strip = (text: string) => text.replace(/[ \t\r\n]/g, '')

/** What keeps receivers from verifying signatures with a published key (RFC 6376 §3.6.1). */
function findKeyProblem(tags: ReadonlyMap<string, string>, expected: string): string | undefined {
  const { p = '', v = 'DKIM1', k = 'rsa', h = 'sha256', s = '*', t = '' } = Object.fromEntries(tags)
  const has = (list: string, ...names: string[]) => list.split(':').some((name) => names.includes(name.toLowerCase()))
  if (v !== 'DKIM1') return `has the version ${quote(v)} instead of DKIM1`
  if (p === '') return 'is revoked: its value p= is empty'
  if (expected !== p && expected.startsWith(p))
    return `is cut off after ${p.length} of ${expected.length} characters: split the value into strings of at most 255 characters, in one record`
  if (expected !== p) return `is another one: found p=${quote(p)}`
  if (k.toLowerCase() !== 'rsa') return `has the type ${quote(k)} instead of rsa`
  if (!has(h, 'sha256')) return `allows the hashes ${quote(h)} only, without sha256`
  if (!has(s, '*', 'email')) return `is for the services ${quote(s)} only, without email`
  if (has(t, 'y')) return 'is marked as a test key (t=y), so receivers ignore its signatures'
  return undefined
}

/** A chain of aliases to the expected host is as good as one. */
async function checkReturnPath(dns: DnsReader, record: ExpectedRecord, domain: string): Promise<Outcome> {
  const { name, value } = record
  const first = await dns.readAlias(name)
  if (first === undefined) return missing(await describeMissing(dns, record, domain))
  for (let target: string | undefined = first, length = 1; target !== undefined; length += 1) {
    if (target === value) return verified
    target = length < maxAliases ? await dns.readAlias(target) : undefined
  }
  return wrong(`The CNAME record at ${name} leads to ${quote(first)}: change it to ${value}`)
}

const maxAliases = 8

/** The name of a domain itself cannot have an alias: its provider publishes the addresses of the target. */
async function checkHost(dns: DnsReader, record: ExpectedRecord, domain: string): Promise<Outcome> {
  const { name, value } = record
  if ((await dns.readAlias(name)) !== undefined) return checkReturnPath(dns, record, domain)
  const [addresses, expected] = await Promise.all([dns.readAddresses(name), dns.readAddresses(value)])
  if (addresses.length === 0) return missing(await describeMissing(dns, record, domain))
  if (addresses.every((address) => expected.includes(address))) return verified
  return wrong(`${name} has the addresses ${addresses.join(', ')}, not those of ${value}: publish a CNAME record`)
}

/** A domain without a record uses that of the domain that was registered. */
async function checkDmarc(dns: DnsReader, record: ExpectedRecord, domain: string): Promise<Outcome> {
  const names = new Set([domain, organizationalDomain(domain) ?? domain])
  for (const name of names) {
    const texts = await dns.readTexts(`_dmarc.${name}`)
    const records = texts.filter((text) => /^v\s*=\s*DMARC1\s*(;|$)/i.test(text))
    if (records.length > 1)
      return wrong(`There are ${records.length} DMARC records at _dmarc.${name}: remove all but one`)
    const [found] = records
    if (found !== undefined) return checkPolicy(found, name)
    const quoted = texts.find(isQuoted)
    if (quoted !== undefined) return wrong(describeQuotes(`_dmarc.${name}`, quoted, record.value))
    if (texts[0] !== undefined)
      return wrong(
        `The TXT record at _dmarc.${name} is ${quote(texts[0])}, not a DMARC record: publish ${record.value}`,
      )
  }
  return missing(await describeMissing(dns, record, domain))
}

function checkPolicy(text: string, name: string): Outcome {
  const policy = parseTags(text).get('p')?.toLowerCase() ?? ''
  if (['none', 'quarantine', 'reject'].includes(policy)) return verified
  return wrong(`The DMARC record at _dmarc.${name} is ${quote(text)}: it needs p=none, p=quarantine or p=reject`)
}

/** Says where the record is instead: providers of DNS append the domain to the name, or there is an alias. */
async function describeMissing(dns: DnsReader, { type, name }: ExpectedRecord, domain: string): Promise<string> {
  const doubled = `${name}.${domain}`
  const isDoubled = type === 'TXT' ? (await dns.readTexts(doubled)).length > 0 : await dns.readAlias(doubled)
  if (isDoubled)
    return `The record is at ${doubled}: your DNS provider appends the domain, so enter the name ${name.slice(0, -domain.length - 1)}`
  const alias = type === 'TXT' ? await dns.readAlias(name) : undefined
  if (alias !== undefined) return `${name} is an alias of ${alias}, which has no TXT record`
  return `There is no ${type} record at ${name}`
}

/** Records belong to others: they may be long, and have characters that PostgreSQL refuses, such as NUL. */
const quote = (text = '') => `"${showInvisible(truncateText(text, 100))}"`
