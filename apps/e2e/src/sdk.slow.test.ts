/** The SDK against the API: its retries, streams and loops while requests, responses and processes are lost. */
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { ConnectionError, parseNdjson, Rapport, type RapportOptions, WebhookSignatureError } from '@rapport/sdk'
import { type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Stack, startStack } from './stack.ts'

const people = (count: number, name = 'person') =>
  Array.from({ length: count }, (_, index) => ({ email: `${name}${index}@example.com`, firstName: `Ada ${index}` }))

async function collect<Value>(iterable: AsyncIterable<Value>): Promise<Value[]> {
  const values: Value[] = []
  for await (const value of iterable) values.push(value)
  return values
}

/** Forwards requests, and closes the connection after the first part of a response. */
async function startCuttingProxy(targetUrl: string): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', headers } = incoming
    const forwarded = sendRequest(targetUrl + incoming.url, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.headers)
      response.once('data', (part: Buffer) => outgoing.write(part, () => outgoing.destroy()))
    })
    forwarded.on('error', () => outgoing.destroy())
    // Otherwise the API waits until this client reads on.
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

// With one backend of the queues, as the API hides it.
describe('the SDK', () => {
  let stack: Stack
  let rapport: Rapport
  let key: string
  let receiver: HttpReceiver
  beforeAll(async () => {
    ;[stack, receiver] = await Promise.all([
      startStack('redis', { RATE_LIMIT_EXEMPT: '127.0.0.0/8' }),
      startHttpReceiver(),
    ])
  })
  beforeEach(async () => {
    ;({ key } = await stack.api.createWorkspace())
    rapport = createClient()
  })
  afterAll(async () => {
    await receiver.close()
    await stack.close()
  })

  const createClient = (options: Partial<RapportOptions> = {}) =>
    new Rapport({ baseUrl: stack.api.url, apiKey: key, ...options })

  async function createContacts(count: number) {
    const all = people(count)
    for (let from = 0; from < count; from += 100)
      await rapport.contacts.batch({ contacts: all.slice(from, from + 100) })
    return all.map(({ email }) => email)
  }

  test('reads hundreds of records once each, while others are inserted', async () => {
    const emails = await createContacts(400)
    const read: string[] = []
    for await (const { email } of rapport.contacts.list({ limit: 100 })) {
      read.push(email ?? '')
      if (read.length % 100 === 50) await rapport.contacts.create({ email: `late${read.length}@example.com` })
    }
    expect(read.filter((email) => !email.startsWith('late')).toSorted()).toEqual(emails.toSorted())
    expect(new Set(read).size).toBe(read.length)
    expect((await rapport.contacts.list({ limit: 1, count: true })).total).toBe(404)
  })

  test('creates one record if a 503 arrives although the request was committed', async () => {
    let requests = 0
    const fetch: RapportOptions['fetch'] = async (...parameters) => {
      const response = await globalThis.fetch(...parameters)
      requests += 1
      return requests === 1 ? Response.json({ message: 'Unavailable' }, { status: 503 }) : response
    }
    const created = createClient({ fetch }).contacts.create({ email: 'ada@example.com' })
    const { data, response } = await created.withResponse()
    expect([response.status, response.headers.get('idempotent-replayed'), requests]).toEqual([201, 'true', 2])
    expect((await rapport.contacts.list()).data).toEqual([data])
  })

  test('creates one record if the connection is cut after the commit', async () => {
    const proxy = await startTestProxy(stack.api.url)
    proxy.cut(/^POST \/contacts /, 'response', 1)
    const created = createClient({ baseUrl: proxy.url }).contacts.create({ email: 'ada@example.com' })
    const { data, response } = await created.withResponse()
    expect(proxy.cuts).toBe(1)
    expect(response.headers.get('idempotent-replayed')).toBe('true')
    expect((await rapport.contacts.list()).data).toEqual([data])
    await proxy.close()
  })

  test('unwraps a delivered webhook, and rejects a forged one', async () => {
    const { secret } = await rapport.webhooks.create({ url: `${receiver.url}/hook`, eventTypes: ['contact.created'] })
    const { id } = await rapport.contacts.create({ email: 'ada@example.com', firstName: 'Ådá' })
    const { body, headers } = await receiver.waitFor((request) => request.body.includes(id), 10_000)
    const event = await rapport.webhooks.unwrap(body, headers, secret)
    expect(event).toMatchObject({ type: 'contact.created', data: { id, firstName: 'Ådá' } })
    expect(event).toEqual(await rapport.events.get(event.id))
    const forged = body.toString().replace('ada@', 'eve@')
    await expect(rapport.webhooks.unwrap(forged, headers, secret)).rejects.toBeInstanceOf(WebhookSignatureError)
  })

  describe('importing', () => {
    const wait = (id: string) => rapport.imports.wait(id, { pollMs: 50 })

    test('sends an array, a generator, a file and a stream', async () => {
      const csv = `email\n${people(300, 'csv')
        .map(({ email }) => email)
        .join('\n')}\n`
      const uploads = [
        { contacts: people(300, 'array') },
        { contacts: people(300, 'generator').values() },
        { csv },
        { csv: () => Readable.from([Buffer.from(csv.replaceAll('csv', 'stream'))]) },
      ]
      for (const upload of uploads) {
        const { id } = await rapport.imports.create(upload)
        expect(await wait(id)).toMatchObject({ status: 'COMPLETED', created: 300, failed: 0 })
      }
      const again = await rapport.imports.create({ contacts: people(300, 'array') }, { onConflict: 'update' })
      expect(await wait(again.id)).toMatchObject({ created: 0, processed: 300, failed: 0 })
      expect((await rapport.contacts.list({ count: true })).total).toBe(1_200)
    })

    test('of a source that fails half-way creates no import', async () => {
      function* failing() {
        yield* people(5_000)
        throw new Error('the database is gone')
      }
      await expect(rapport.imports.create({ contacts: () => failing() })).rejects.toThrow('the database is gone')
      expect((await rapport.imports.list()).data).toEqual([])
    })

    test('without a valid key rejects with a 401, also for a large stream', async () => {
      const client = createClient({ apiKey: 'rpk_wrong' })
      await expect(client.imports.create({ contacts: people(50_000).values() })).rejects.toMatchObject({ status: 401 })
    })
  })

  test('rejects an export that is cut, and never returns a short file', async () => {
    const emails = await createContacts(1_000)
    const whole = await collect(parseNdjson(await rapport.contacts.export({ format: 'ndjson' })))
    expect(whole.map(({ email }) => email).toSorted()).toEqual(emails.toSorted())

    const proxy = await startCuttingProxy(stack.api.url)
    const cut = createClient({ baseUrl: proxy.url })
    const read: unknown[] = []
    const readAll = async () => {
      for await (const contact of parseNdjson(await cut.contacts.export({ format: 'ndjson' }))) read.push(contact)
    }
    await expect(readAll()).rejects.toBeInstanceOf(ConnectionError)
    expect(read.length).toBeLessThan(whole.length)
    const text = cut.contacts.export({ format: 'csv' }).then((file) => new Response(file).text())
    await expect(text).rejects.toBeInstanceOf(ConnectionError)
    await proxy.close()
  })

  test('follows events in order and once each, while the API is killed and started again', async () => {
    const count = 40
    const emails = people(count).map(({ email }) => email)
    const handled: string[] = []
    const following = new AbortController()
    const failures: string[] = []
    let restarted: Promise<unknown> | undefined
    const restart = async () => {
      const api = stack.apis.at(-1)
      api?.kill('SIGKILL')
      await api?.exited
      await stack.startApi()
    }
    const followed = rapport.events.follow(
      null,
      async (event) => {
        if (event.type === 'contact.created' && 'email' in event.data) handled.push(event.data.email ?? '')
        if (handled.length === 10) restarted ??= restart()
        if (handled.length === count) following.abort()
      },
      { pollMs: 20, type: ['contact.created'], signal: following.signal, onError: ({ name }) => failures.push(name) },
    )
    for (const email of emails) await rapport.contacts.create({ email }, { maxRetries: 10 })
    const last = await followed
    await restarted
    expect(handled).toEqual(emails)
    expect(failures).toContain('ConnectionError')
    expect(last).toBe((await rapport.events.list({ limit: 1 })).data[0]?.id)
  })
})
