/** The hosts of workspaces behind the Caddy of `ops`, with an authority of its own. */
import { get, type RequestOptions } from 'node:https'
import { connect } from 'node:tls'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { findReverseProxy, type ReverseProxy, startReverseProxy } from '@rapport/testing/network/reverse-proxy.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Stack, startStack, timeoutMs } from './stack.ts'

const caddy = await findReverseProxy('caddy')
const [host, installation] = ['news.client.example', 'crm.invalid']

interface DnsRecord {
  type: string
  name: string
  value: string
}

// Skipped where Caddy is not installed, and Debian packages cannot be unpacked.
describe.skipIf(caddy === undefined)('a host of a workspace behind Caddy', () => {
  let stack: Stack
  let proxy: ReverseProxy
  let dns: Awaited<ReturnType<typeof startNameServer>>
  let key: string
  let apiPorts: [number, number]
  let [form, domain] = ['', '']

  beforeAll(async () => {
    dns = await startNameServer({ denyUnknown: true })
    stack = await startStack(
      'postgres',
      { PUBLIC_URL: `https://${installation}`, DNS_SERVER: dns.address },
      { worker: 'none' },
    )
    const secondPort = await findFreePort()
    const env = { ...stack.env, PORT: String(secondPort) }
    const readyUrl = `http://127.0.0.1:${secondPort}/ready`
    stack.apis.push(await startProcess({ script: 'apps/api/src/main.ts', env, readyUrl, timeoutMs }))
    apiPorts = [Number(stack.env['PORT']), secondPort]
    proxy = await startReverseProxy('caddy', { program: caddy ?? '', apiPorts })
    ;({ key } = await stack.api.createWorkspace())
    const fields = [{ id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' }]
    const created = await stack.api.call<{ id: string }>('POST', '/forms', { key, body: { name: 'Sign-up', fields } })
    form = created.body.id
  })
  afterAll(async () => {
    await proxy.close()
    await stack.close()
    dns.close()
  })

  /** Connects to the proxy with the name of a host, as a browser does. */
  const port = () => Number(new URL(proxy.url).port)
  const handshake = (servername: string) =>
    new Promise<string>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: port(), servername, rejectUnauthorized: false })
      socket.once('secureConnect', () => resolve(String(socket.getPeerCertificate().subjectaltname)))
      socket.once('error', () => resolve('refused'))
    })

  function read(path: string, options: RequestOptions = {}): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      const url = { host: '127.0.0.1', port: port(), servername: host, path, agent: false, headers: { host } }
      const outgoing = get({ ...url, ...options }, (response) => {
        const toText = (chunks: Buffer[]) => ({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString(),
        })
        response.toArray().then((chunks) => resolve(toText(chunks as Buffer[])), reject)
      })
      outgoing.on('error', reject)
    })
  }

  test('gets no certificate before it is verified', async () => {
    expect(await handshake(host)).toBe('refused')
  })

  test('gets a certificate once it is verified, and serves its pages only', async () => {
    const body = { name: 'client.example', host }
    const added = await stack.api.call<{ id: string; records: DnsRecord[] }>('POST', '/domains', { key, body })
    expect(added.status).toBe(201)
    domain = added.body.id
    for (const { type, name, value } of added.body.records) {
      if (type === 'TXT') dns.setTextRecords(name, value)
      else dns.setAlias(name, value)
    }
    const verified = await stack.api.call('POST', `/domains/${domain}/verify`, { key })
    expect(verified.body).toMatchObject({ status: 'VERIFIED' })
    const hasCertificate = async () => (await handshake(host)) === `DNS:${host}`
    await waitUntil(hasCertificate, { describe: 'Caddy has a certificate for the host', timeoutMs })

    const ca = await proxy.readAuthority()
    expect(await read(`/f/${form}`, { ca })).toMatchObject({
      status: 200,
      body: expect.stringContaining('Sign-up') as string,
    })
    expect((await read('/embed/form.js', { ca })).status).toBe(200)
    // Each API keeps the hosts for some seconds.
    const knowsHost = async (apiPort: number) =>
      (await fetch(`http://127.0.0.1:${apiPort}/health`, { headers: { 'x-forwarded-host': host } })).status === 404
    for (const apiPort of apiPorts)
      await waitUntil(() => knowsHost(apiPort), { describe: 'the API knows the host', timeoutMs })
    const authorization = `Bearer ${key}`
    for (const path of ['/contacts', '/docs/', '/health', '/tls-allowed?domain=crm.invalid'])
      expect([path, (await read(path, { ca, headers: { host, authorization } })).status]).toEqual([path, 404])
    // Caddy passes no host that a client claims.
    const forged = { host, authorization, 'x-forwarded-host': installation }
    expect((await read('/contacts', { ca, headers: forged })).status).toBe(404)
  })

  test('any other name gets no certificate', async () => {
    for (const name of ['www.client.example', 'client.example', 'other.example'])
      expect([name, await handshake(name)]).toEqual([name, 'refused'])
  })

  test('plain HTTP is redirected to the host, and requests by address go on', async () => {
    const plainPort = Number(new URL(proxy.plainUrl).port)
    const { request } = await import('node:http')
    const location = await new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: plainPort, path: '/f/x', headers: { host }, agent: false }
      request(options, (response) => {
        response.resume()
        resolve([response.statusCode, response.headers.location])
      })
        .on('error', reject)
        .end()
    })
    expect(location).toEqual([308, `https://${host}/f/x`])
    expect((await stack.api.call('GET', '/contacts', { key })).status).toBe(200)
  })
})
