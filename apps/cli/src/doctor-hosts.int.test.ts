import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { foreignCertificate, testKey } from '@rapport/testing/network/certificates.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { addVerifiedHost, publishRecords } from '@rapport/testing/network/sending-domains.ts'
import { beforeAll, expect, test } from 'vitest'
import { runDoctor } from './testing.ts'

const database = useTestDatabase()
const dns = useForFile(() => startNameServer({ denyUnknown: true }))
const host = 'news.client.example'

beforeAll(async () => {
  const settings = { publicUrl: 'https://crm.invalid' }
  const ctx = await createTestCtx(database.db, { settings })
  publishRecords(dns, ctx, await addVerifiedHost(ctx, 'client.example', host))
})

/** Runs the check with a server in the place of the proxy. The name of PUBLIC_URL leads nowhere. */
async function examine(listener: RequestListener, certificate?: string) {
  const server = certificate ? createTlsServer({ key: testKey, cert: certificate }, listener) : createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const base = `${certificate ? 'https' : 'http'}://${host}:${port}`
  dns.setAddresses('crm.invalid', [['127.0.0.1']])
  const PUBLIC_URL = base.replace(host, 'crm.invalid')
  const found = await runDoctor({ DATABASE_URL: database.url, PUBLIC_URL }, dns.address)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  return { base, findings: found('Hosts'), domains: found('Domains') }
}

test('Hosts: a host that serves the pages of Rapport is right', async () => {
  const asked: (string | undefined)[] = []
  const { findings, domains } = await examine(({ headers, url }, response) => {
    asked.push(`${headers.host?.split(':')[0]}${url}`)
    response.writeHead(200, { 'content-type': 'text/javascript; charset=utf-8' }).end()
  })
  expect(findings).toEqual(['ok: 1 host of workspaces can be reached'])
  expect(asked).toContain(`${host}/embed/form.js`)
  expect(domains).toEqual(['ok: the records of 1 domain are published'])
})

test('Hosts: a redirect, another server and a missing address are found', async () => {
  const redirect = await examine((_request, response) => {
    response.writeHead(301, { location: 'https://www.client.example/' }).end()
  })
  const page = `${redirect.base}/embed/form.js`
  expect(redirect.findings).toEqual([`fail: ${page} redirects to https://www.client.example/`])
  const { base, findings } = await examine((_request, response) => void response.writeHead(404).end())
  expect(findings).toEqual([`fail: ${base}/embed/form.js returned 404, but is not a page of Rapport`])
  dns.setAlias(host)
  const lost = await examine((_request, response) => void response.end())
  expect(lost.findings).toEqual([expect.stringMatching(`^warn: ${host} has no address`)])
  expect(lost.domains).toEqual([expect.stringContaining(`There is no CNAME record at ${host}`)])
  dns.setAlias(host, 'crm.invalid')
})

test('Hosts: a certificate for another name fails', async () => {
  const { findings } = await examine((_request, response) => void response.end(), foreignCertificate)
  expect(findings).toEqual([`fail: the certificate of ${host} is for elsewhere.example, not for ${host}`])
})
