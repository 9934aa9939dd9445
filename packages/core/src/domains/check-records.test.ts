import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkRecords } from './check-records.ts'
import { createDnsReader, type DnsReader } from './dns.ts'
import type { ExpectedRecord } from './domain-records.ts'

let server: Awaited<ReturnType<typeof startNameServer>>
let dns: DnsReader
beforeAll(async () => {
  server = await startNameServer({ denyUnknown: true })
  dns = createDnsReader([server.address])
})
afterAll(() => server.close())

const domain = 'news.engines.example'
const key = 'MIIB'.padEnd(392, 'x')
const dkim: ExpectedRecord = {
  purpose: 'DKIM',
  type: 'TXT',
  name: `rp1-2t4w6x8y0z1b._domainkey.${domain}`,
  value: `v=DKIM1; k=rsa; p=${key}`,
}
const returnPath: ExpectedRecord = {
  purpose: 'RETURN_PATH',
  type: 'CNAME',
  name: `bounce.${domain}`,
  value: 'bounces.rapport.example',
}
const dmarc: ExpectedRecord = { purpose: 'DMARC', type: 'TXT', name: `_dmarc.${domain}`, value: 'v=DMARC1; p=none' }

async function check(record: ExpectedRecord) {
  const [result] = await checkRecords(dns, domain, [record])
  return result
}
const found = { status: 'VERIFIED', problem: null }

describe('the DKIM record', () => {
  beforeEach(() => {
    for (const name of [dkim.name, `${dkim.name}.${domain}`]) server.setTextRecords(name)
    server.setAlias(dkim.name)
    server.setFailing(dkim.name, false)
  })

  test.each([
    ['as shown', [`v=DKIM1; k=rsa; p=${key}`]],
    ['in strings', [['v=DKIM1; k=rsa; ', `p=${key.slice(0, 200)}`, key.slice(200)]]],
    ['without spaces, with a semicolon at the end', [`v=DKIM1;k=rsa;p=${key};`]],
    ['with spaces within the key', [`v=DKIM1; p=${key.slice(0, 100)} ${key.slice(100)}`]],
    ['beside a text that is no key', ['google-site-verification=1', `p=${key}`]],
  ])('%s is found', async (_how, records) => {
    server.setTextRecords(dkim.name, ...records)
    expect(await check(dkim)).toMatchObject(found)
  })

  test('is found through an alias', async () => {
    server.setAlias(dkim.name, 'keys.engines.example')
    server.setTextRecords('keys.engines.example', dkim.value)
    expect(await check(dkim)).toMatchObject(found)
    server.setTextRecords('keys.engines.example')
    const problem = `${dkim.name} is an alias of keys.engines.example, which has no TXT record`
    expect(await check(dkim)).toMatchObject({ status: 'PENDING', problem })
  })

  test.each([
    ['another key', ['v=DKIM1; p=AAAA'], 'is another one: found p="AAAA"'],
    ['several keys', [dkim.value, 'v=DKIM1; p=AAAA'], 'There are 2 TXT records with a key at'],
    ['no key', ['hello'], 'is "hello": publish v=DKIM1; k=rsa; p=MIIB'],
    ['a revoked key', ['v=DKIM1; p='], 'is revoked'],
    ['a key that was cut off', [`v=DKIM1; p=${key.slice(0, 230)}`], 'is cut off after 230 of 392 characters'],
    ['quotes', [`"v=DKIM1; k=rsa; p=${key}"`], 'contains quotation marks'],
    [
      'typographic quotes',
      [['“v=DKIM1; k=rsa; ', `p=${key.slice(0, 200)}`, `${key.slice(200)}”`]],
      'contains quotation marks',
    ],
    ['quotes of HTML', [`&quot;v=DKIM1; k=rsa; p=${key}&quot;`], 'contains quotation marks'],
    ['apostrophes', [`'v=DKIM1; k=rsa; p=${key}'`], 'contains quotation marks'],
    ['signs of a zone file', [`v=DKIM1\\; k=rsa\\; p=${key}`], 'contains backslashes'],
    ['a quote within it', [`v=DKIM1; k=rsa; p=${key.slice(0, 200)}" "${key.slice(200)}`], 'contains quotation marks'],
    ['another type', [`v=DKIM1; k=ed25519; p=${key}`], 'has the type "ed25519" instead of rsa'],
    ['old hashes', [`v=DKIM1; h=sha1; p=${key}`], 'without sha256'],
    ['another service', [`v=DKIM1; s=tlsrpt; p=${key}`], 'without email'],
    ['a test key', [`v=DKIM1; t=y:s; p=${key}`], 'is marked as a test key'],
  ])('with %s has a problem that says so', async (_what, records, problem) => {
    server.setTextRecords(dkim.name, ...records)
    expect(await check(dkim)).toMatchObject({ status: 'FAILED', problem: expect.stringContaining(problem) })
  })

  test('that does not exist is PENDING; one at a doubled name is pointed out', async () => {
    expect(await check(dkim)).toMatchObject({ status: 'PENDING', problem: `There is no TXT record at ${dkim.name}` })
    server.setTextRecords(`${dkim.name}.${domain}`, dkim.value)
    const { problem } = (await check(dkim)) ?? {}
    expect(problem).toMatch(/your DNS provider appends the domain, so enter the name rp1-2t4w6x8y0z1b\._domainkey$/)
  })

  test('is unknown if the name server fails or does not respond', async () => {
    server.setFailing(dkim.name)
    expect(await check(dkim)).toMatchObject({ status: 'UNKNOWN', problem: expect.stringContaining('ESERVFAIL') })
    const nowhere = createDnsReader(['127.0.0.1:1'])
    const [result] = await checkRecords(nowhere, domain, [dkim])
    expect(result).toMatchObject({ status: 'UNKNOWN', problem: expect.stringContaining('ECONNREFUSED') })
  })
})

describe('the record of the return path', () => {
  test('may lead to the host over several aliases', async () => {
    expect(await check(returnPath)).toMatchObject({ status: 'PENDING' })
    server.setAlias(returnPath.name, 'Mail.engines.example')
    server.setAlias('mail.engines.example', returnPath.value)
    expect(await check(returnPath)).toMatchObject(found)
  })

  test('that leads elsewhere, or in a circle, has a problem', async () => {
    server.setAlias(returnPath.name, 'other.example')
    const problem = `The CNAME record at ${returnPath.name} leads to "other.example": change it to ${returnPath.value}`
    expect(await check(returnPath)).toMatchObject({ status: 'FAILED', problem })
    server.setAlias('other.example', returnPath.name)
    expect(await check(returnPath)).toMatchObject({ status: 'FAILED', problem })
  })
})

describe('the DMARC record', () => {
  beforeEach(() => {
    for (const name of [domain, 'engines.example']) server.setTextRecords(`_dmarc.${name}`)
  })

  test('may be that of the registered domain, with any policy', async () => {
    expect(await check(dmarc)).toMatchObject({ status: 'PENDING' })
    server.setTextRecords('_dmarc.engines.example', 'v=DMARC1; p=reject; rua=mailto:ada@engines.example')
    expect(await check(dmarc)).toMatchObject(found)
  })

  test.each([
    [['v=DMARC1; p=none', 'v=DMARC1; p=reject'], 'There are 2 DMARC records'],
    [['v=DMARC1'], 'it needs p=none, p=quarantine or p=reject'],
    [['hello'], 'not a DMARC record'],
    [['"v=DMARC1; p=none"'], 'contains quotation marks'],
    [['v=DMARC1\\; p=none'], 'contains backslashes'],
  ])('%j has a problem', async (records, problem) => {
    server.setTextRecords(dmarc.name, ...records)
    expect(await check(dmarc)).toMatchObject({ status: 'FAILED', problem: expect.stringContaining(problem) })
  })
})
