import { DnsFailure, type DnsReader } from '@rapport/core/domains/dns.ts'
import type { BulkMail } from '@rapport/core/operations/mail/read-bulk-mail.ts'
import { describe, expect, test } from 'vitest'
import { judgeMail } from './judge-mail.ts'
import { receivers } from './rules.ts'

const key = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A'
const dkimRecord = {
  purpose: 'DKIM',
  type: 'TXT',
  name: 'r1._domainkey.news.example.com',
  value: `v=DKIM1; k=rsa; p=${key}`,
} as const

const goodMail: BulkMail = {
  from: 'news@news.example.com',
  headers: {
    'List-Unsubscribe': '<https://crm.example.com/public/unsubscribe?token=x>',
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    'Feedback-ID': 'cmp:wsp:CAMPAIGN:rapport',
  },
  html: '<a href="https://example.com">Read</a>',
  text: 'Read: https://example.com',
  returnPath: 'bounce.news.example.com',
  dkimRecord,
  isSigned: true,
  sent: 10_000,
  complained: 5,
}

const goodRecords: Record<string, string[]> = {
  'bounce.news.example.com': ['v=spf1 include:relay.example -all'],
  [dkimRecord.name]: [dkimRecord.value],
  // Of the domain that was registered.
  '_dmarc.example.com': ['v=DMARC1; p=none'],
}

const readFrom = (records: Record<string, string[]>): DnsReader => ({
  readTexts: (name) => Promise.resolve(records[name] ?? []),
  readAlias: () => Promise.resolve(undefined),
  readAddresses: () => Promise.resolve([]),
  readExchanges: () => Promise.resolve([]),
})

/** The findings that are not ok, by what they are about. */
async function problemsOf(mail: Partial<BulkMail>, records: Record<string, string[]> = {}) {
  const dns = readFrom({ ...goodRecords, ...records })
  const findings = await judgeMail({ mail: { ...goodMail, ...mail }, dns, installationKey: undefined }, ['gmail'])
  return findings.filter(({ level }) => level !== 'ok').map(({ level, about }) => `${level} ${about}`)
}

test('a good mail passes every rule of every receiver, each with its source', async () => {
  const findings = await judgeMail(
    { mail: goodMail, dns: readFrom(goodRecords), installationKey: undefined },
    receivers,
  )
  expect(findings.filter(({ level }) => level !== 'ok')).toEqual([])
  expect(findings.map(({ about }) => about.replace(/:.*/, ''))).toEqual([
    ...Array.from({ length: 10 }, () => 'Gmail'),
    ...Array.from({ length: 8 }, () => 'Yahoo'),
    ...Array.from({ length: 8 }, () => 'Microsoft'),
  ])
  expect(findings.every(({ source }) => source?.startsWith('https://'))).toBe(true)
})

describe('one thing wrong', () => {
  test.each<[string, Partial<BulkMail>, Record<string, string[]>, string[]]>([
    [
      'an address of a mailbox provider',
      { from: 'ada@gmail.com', dkimRecord: undefined, isSigned: false },
      {},
      ['From', 'DMARC', 'Alignment'],
    ],
    ['no SPF record', {}, { 'bounce.news.example.com': [] }, ['SPF']],
    ['two SPF records', {}, { 'bounce.news.example.com': ['v=spf1 -all', 'v=spf1 ~all'] }, ['SPF']],
    ['no key', {}, { [dkimRecord.name]: [] }, ['DKIM']],
    ['another key', {}, { [dkimRecord.name]: ['v=DKIM1; p=AAAA'] }, ['DKIM']],
    ['no DMARC record', {}, { '_dmarc.example.com': [] }, ['DMARC']],
    [
      'an envelope sender of another domain',
      { returnPath: 'relay.example', isSigned: false },
      {
        'relay.example': ['v=spf1 -all'],
      },
      ['Alignment'],
    ],
    ['no one-click', { headers: { ...goodMail.headers, 'List-Unsubscribe-Post': '' } }, {}, ['One-click unsubscribe']],
    [
      'an http link',
      { headers: { ...goodMail.headers, 'List-Unsubscribe': '<http://a.example>' } },
      {},
      ['One-click unsubscribe'],
    ],
    ['0.3 % complaints', { complained: 30 }, {}, ['Complaints']],
  ])('%s fails', async (...[, mail, records, expected]) => {
    const problems = await problemsOf(mail, records)
    expect(problems).toEqual(expect.arrayContaining(expected.map((about) => `fail Gmail: ${about}`)))
    expect(problems.filter((problem) => problem.startsWith('fail'))).toHaveLength(expected.length)
  })

  test.each<[string, Partial<BulkMail>, string]>([
    ['0.1 % complaints', { complained: 10 }, 'Complaints'],
    [
      'no Feedback-ID',
      { headers: { ...goodMail.headers, 'Feedback-ID': undefined as unknown as string } },
      'Feedback-ID',
    ],
    ['a link without TLS', { text: 'See http://example.com' }, 'Links'],
    ['more than 102 KiB', { html: 'x'.repeat(104_449) }, 'Size'],
    ['an unknown signature', { dkimRecord: undefined, isSigned: false }, 'DKIM'],
  ])('%s is a warning', async (_name, mail, about) => {
    expect(await problemsOf(mail)).toContain(`warn Gmail: ${about}`)
  })
})

test('without DNS, what depends on it is unknown', async () => {
  const dns: DnsReader = {
    readTexts: () => Promise.reject(new DnsFailure('ETIMEOUT')),
    readAlias: () => Promise.reject(new DnsFailure('ETIMEOUT')),
    readAddresses: () => Promise.reject(new DnsFailure('ETIMEOUT')),
    readExchanges: () => Promise.reject(new DnsFailure('ETIMEOUT')),
  }
  const findings = await judgeMail({ mail: goodMail, dns, installationKey: undefined }, ['yahoo'])
  const unknown = findings.filter(({ level }) => level === 'warn').map(({ about }) => about)
  expect(unknown).toEqual(['Yahoo: SPF', 'Yahoo: DKIM', 'Yahoo: DMARC'])
})

test('the key of the installation counts for the domain that it is aligned with', async () => {
  const mail = { ...goodMail, dkimRecord: undefined, isSigned: false, returnPath: 'relay.example' }
  const judgeWith = async (domain: string) => {
    const judged = {
      mail,
      dns: readFrom({ ...goodRecords, 'relay.example': ['v=spf1 -all'] }),
      installationKey: { domain },
    }
    return (await judgeMail(judged, ['microsoft'])).find(({ about }) => about === 'Microsoft: Alignment')?.level
  }
  expect([await judgeWith('example.com'), await judgeWith('other.example')]).toEqual(['ok', 'fail'])
})
