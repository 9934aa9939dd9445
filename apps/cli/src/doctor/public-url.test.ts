/** Checks of the certificate of PUBLIC_URL. */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import {
  expiredCertificate,
  foreignCertificate,
  goodCertificate,
  testKey,
} from '@rapport/testing/network/certificates.ts'
import { afterEach, expect, test } from 'vitest'
import { createPublicUrlCheck } from './public-url.ts'

const authorities = getCACertificates('default')
afterEach(() => setDefaultCACertificates(authorities))

/** Runs the check against an API with this certificate. */
async function check(certificate: string, now = Date.now()): Promise<string[]> {
  const body = JSON.stringify({ status: 'ready', parts: { database: 'up' } })
  const server = createServer({ key: testKey, cert: certificate }, (_request, response) => void response.end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const PUBLIC_URL = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const none = { database: undefined, dnsServers: undefined, backupDirectory: undefined }
  const findings = await createPublicUrlCheck(() => now).run({ config: { PUBLIC_URL }, invalid: new Set(), ...none })
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  for (const { level, advice } of findings) expect(advice ?? '').toMatch(level === 'ok' ? /^$/ : /\w/)
  return findings.map(({ level, message }) => `${level}: ${message}`)
}

/** The certificate is valid until 2126-10-28T12:42:29Z. */
const daysBeforeEnd = (days: number) => Date.parse('2126-10-28T12:42:29Z') - days * 86_400_000
const isApi = expect.stringMatching(/^ok: https:\S+ is a Rapport API$/) as string

test('a certificate warns two weeks before it expires', async () => {
  setDefaultCACertificates([...authorities, goodCertificate])
  expect(await check(goodCertificate, daysBeforeEnd(60))).toEqual(['ok: the certificate expires in 60 d', isApi])
  expect(await check(goodCertificate, daysBeforeEnd(13))).toEqual(['warn: the certificate expires in 13 d', isApi])
})

test('a certificate that expired fails, and is the only problem', async () => {
  expect(await check(goodCertificate, daysBeforeEnd(-3))).toEqual(['fail: the certificate expired 3 d ago'])
  expect(await check(expiredCertificate)).toEqual([expect.stringMatching(/^fail: the certificate expired \d+ d ago$/)])
})

test('a certificate for another name fails, and names it', async () => {
  expect(await check(foreignCertificate)).toEqual(['fail: the certificate is for elsewhere.example, not for 127.0.0.1'])
})

test('a certificate of an unknown authority fails', async () => {
  expect(await check(goodCertificate)).toEqual(['fail: the certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)'])
})
