/** Hostnames and TLS certificates of webhook URLs. */
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  expiredCertificate,
  foreignCertificate,
  goodCertificate,
  testKey,
} from '@rapport/testing/network/certificates.ts'
import { type NameServer, startNameServer } from '@rapport/testing/network/name-server.ts'
import { type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defaultTimings } from '../process/worker-timings.ts'
import { openOutboundHttp, type OutboundHttp } from './outbound-http.ts'

const message = { headers: { 'content-type': 'application/json' }, body: '{}' }
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const blocked = 'The address is not public and not allowed'

describe('a hostname', () => {
  let receiver: HttpReceiver
  let dns: NameServer
  let http: OutboundHttp
  beforeAll(async () => {
    ;[receiver, dns] = [await startHttpReceiver(), await startNameServer()]
    http = openOutboundHttp(['127.0.0.0/8'], { timings: defaultTimings, dnsServers: [dns.address] })
  })
  beforeEach(() => dns.resetCounts())
  afterAll(async () => {
    await http.close()
    await receiver.close()
    dns.close()
  })
  const post = (name: string) => http.openConnections().post(`http://${name}:${receiver.port}/${name}`, message)
  const requestsTo = (name: string) => receiver.requests.filter(({ url }) => url === `/${name}`)

  test('is resolved once per request, so that DNS rebinding is not possible', async () => {
    dns.setAddresses('rebinding.example', [['127.0.0.1'], ['10.0.0.1'], ['10.0.0.1']])
    expect(await post('rebinding.example')).toMatchObject({ status: 200, error: null })
    expect(dns.countQueries('rebinding.example')).toBe(1)
    expect(await post('rebinding.example')).toMatchObject({ status: null, error: blocked })
    expect(requestsTo('rebinding.example')).toHaveLength(1)
  })

  test('is checked again for each request of a drain', async () => {
    dns.setAddresses('drain.example', [['127.0.0.1'], ['10.0.0.1']])
    const connections = http.openConnections()
    const post = () => connections.post(`http://drain.example:${receiver.port}/drain.example`, message)
    expect(await post()).toMatchObject({ status: 200 })
    expect(await post()).toMatchObject({ status: null, error: blocked })
    await connections.close()
  })

  test('is rejected if any of its addresses is private', async () => {
    for (const [name, addresses] of [
      ['first.example', ['169.254.169.254', '127.0.0.1']],
      ['last.example', ['127.0.0.1', '127.0.0.2', '192.168.0.1']],
    ] as const) {
      dns.setAddresses(name, [addresses])
      expect(await post(name)).toMatchObject({ status: null, error: blocked })
      expect(requestsTo(name)).toEqual([])
    }
  })

  test('of a private network is not even resolved, unless the operator allows a network', async () => {
    const guarded = openOutboundHttp([], { timings: defaultTimings, dnsServers: [dns.address] })
    for (const name of [
      'receiver',
      'receiver.internal',
      'RECEIVER.Internal.',
      'receiver.local',
      'receiver.home.arpa',
    ]) {
      dns.setAddresses(name.toLowerCase().replace(/\.$/, ''), [['127.0.0.1']])
      const outcome = await guarded.openConnections().post(`http://${name}:${receiver.port}/`, message)
      expect([name, outcome]).toMatchObject([name, { status: null, error: blocked }])
      expect(dns.countQueries(name)).toBe(0)
    }
    dns.setAddresses('receiver.internal', [['127.0.0.1']])
    expect(await post('receiver.internal')).toMatchObject({ status: 200, error: null })
    await guarded.close()
  })

  test('is accepted if all of its 25 addresses are allowed', async () => {
    dns.setAddresses('many.example', [Array.from({ length: 25 }, () => '127.0.0.1')])
    expect(await post('many.example')).toMatchObject({ status: 200 })
  })

  test('that does not exist fails the request', async () => {
    expect((await post('unknown.invalid')).error).toMatch(/^The hostname could not be resolved/)
  })

  test('that never resolves does not delay other requests', async () => {
    dns.setAddresses('quick.example', [['127.0.0.1']])
    const timings = { ...defaultTimings, nameQueryTimeoutMs: 300 }
    const http = openOutboundHttp(['127.0.0.0/8'], { timings, dnsServers: [dns.address] })
    const post = (name: string) => http.openConnections().post(`http://${name}:${receiver.port}/${name}`, message)
    const slow = Array.from({ length: 40 }, (_, n) => post(`silent-${n}.example`))
    const first = await Promise.race([...slow, post('quick.example')])
    expect(first).toMatchObject({ status: 200 })
    const local = await http.openConnections().post(`http://localhost:${receiver.port}/local`, message)
    expect([200, null]).toContain(local.status)
    for (const { error } of await Promise.all(slow)) {
      expect(error).toMatch(/^The hostname could not be resolved \(ETIMEOUT\)$|^No connection within 5 seconds$/)
    }
    await http.close()
  })
})

describe('over TLS', () => {
  const attempt = async (cert: string, ca: string | undefined) => {
    const server = createServer({ key: testKey, cert }, (_request, response) => response.end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const http = openOutboundHttp(['127.0.0.0/8'], { timings: defaultTimings, ...(ca !== undefined && { ca }) })
    const outcome = await http
      .openConnections()
      .post(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`, message)
    await http.close()
    await new Promise((resolve) => server.close(resolve))
    return outcome
  }

  test('a valid certificate is accepted', async () => {
    expect(await attempt(goodCertificate, goodCertificate)).toMatchObject({ status: 200, error: null })
  })

  test.each([
    ['of an unknown authority', goodCertificate, undefined],
    ['for another hostname', foreignCertificate, foreignCertificate],
    ['that has expired', expiredCertificate, expiredCertificate],
  ])('a certificate %s is rejected', async (_name, certificate, ca) => {
    expect(await attempt(certificate, ca)).toMatchObject({
      status: null,
      error: expect.stringMatching(/^The TLS certificate was rejected \(\w+\)$/),
    })
  })

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a %s session is resumed within a drain and not in the next one',
    async (version) => {
      const resumed: boolean[] = []
      const sockets = new Set<unknown>()
      const options = { key: testKey, cert: goodCertificate, minVersion: version, maxVersion: version }
      const server = createServer(options, (_request, response) => response.end('ok'))
      server.on('secureConnection', (socket) => {
        sockets.add(socket)
        resumed.push(socket.isSessionReused())
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const http = openOutboundHttp(['127.0.0.0/8'], { timings: defaultTimings, ca: goodCertificate })
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
      for (let drain = 0; drain < 2; drain += 1) {
        const connections = http.openConnections()
        for (let n = 0; n < 3; n += 1) {
          expect(await connections.post(url, message)).toMatchObject({ status: 200, body: 'ok', error: null })
          // Until no connection is open and the garbage collector has run: the session must survive both.
          await pause(20)
          collectGarbage()
        }
        await connections.close()
      }
      await http.close()
      await new Promise((resolve) => server.close(resolve))
      expect(resumed).toEqual([false, true, true, false, true, true])
      expect(sockets.size).toBe(6)
    },
  )

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a %s session with a rejected certificate is not resumed',
    async (version) => {
      const options = { key: testKey, cert: foreignCertificate, minVersion: version, maxVersion: version }
      let requests = 0
      const server = createServer(options, (_request, response) => {
        requests += 1
        response.end()
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const http = openOutboundHttp(['127.0.0.0/8'], { timings: defaultTimings, ca: foreignCertificate })
      const connections = http.openConnections()
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
      for (let n = 0; n < 3; n += 1) {
        expect((await connections.post(url, message)).error).toMatch(/^The TLS certificate was rejected/)
      }
      await http.close()
      await new Promise((resolve) => server.close(resolve))
      expect(requests).toBe(0)
    },
  )

  test('a receiver with HTTP/2 gets each request over HTTP/1.1 on a new connection', async () => {
    const sockets = new Set<unknown>()
    const versions: string[] = []
    const options = { key: testKey, cert: goodCertificate, allowHTTP1: true }
    const server = createSecureServer(options, ({ httpVersion }, response) => {
      versions.push(httpVersion)
      response.end()
    })
    server.on('secureConnection', (socket) => sockets.add(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const http = openOutboundHttp(['127.0.0.0/8'], { timings: defaultTimings, ca: goodCertificate })
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const connections = http.openConnections()
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => connections.post(url, message)))
    await http.close()
    await new Promise((resolve) => server.close(resolve))
    expect(outcomes.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect([versions, sockets.size]).toEqual([['1.1', '1.1', '1.1', '1.1', '1.1'], 5])
  })
})
