import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createFakeClient, json, resultOf, rejectionOf, useFakeTime } from '../test/fake-fetch.ts'
import { ConnectionError } from './errors.ts'
import { Rapport } from './rapport.ts'
import type { Upload } from './upload.ts'

const people = [{ email: 'ada@example.com' }, { email: 'bob@example.com' }]
const ndjson = '{"email":"ada@example.com"}\n{"email":"bob@example.com"}\n'
const csv = 'email\nådá@example.com\n'
async function* chunks(...parts: (string | Uint8Array)[]) {
  yield* parts
}
const bytes = new TextEncoder().encode(csv)
/** Cut inside a character. */
const halves = [bytes.subarray(0, 7), bytes.subarray(7)]

beforeEach(() => {
  useFakeTime()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Each creates an upload that can be read once, and says what is sent. */
const repeatable: [string, () => Upload, string][] = [
  ['a string', () => ({ csv }), csv],
  ['bytes', () => ({ csv: bytes }), csv],
  ['a Blob', () => ({ csv: new Blob([csv]) }), csv],
  ['a string of NDJSON', () => ({ ndjson }), ndjson],
  ['a function that opens a stream', () => ({ csv: () => Readable.from([Buffer.from(csv)]) }), csv],
  ['an array of contacts', () => ({ contacts: people }), ndjson],
  ['a function that returns a generator', () => ({ contacts: () => people.values() }), ndjson],
]
const oneShot: [string, () => Upload, string][] = [
  ['a stream of Node', () => ({ csv: Readable.from([Buffer.from(csv)]) }), csv],
  ['a web stream', () => ({ csv: new Blob([csv]).stream() }), csv],
  ['a generator of texts and bytes', () => ({ csv: chunks('em', '', 'ail\n', bytes.subarray(6)) }), csv],
  ['a generator of bytes', () => ({ csv: chunks(...halves) }), csv],
  ['a generator of contacts', () => ({ contacts: people.values() }), ndjson],
  ['an asynchronous generator of contacts', () => ({ contacts: Readable.from(people) }), ndjson],
]

test.each([...repeatable, ...oneShot])('%s is sent with its content type', async (_name, create, text) => {
  const { rapport, sent } = createFakeClient([json(202, { id: 'imp_1' })])
  await resultOf(rapport.imports.create(create()))
  expect(sent[0]?.body).toBe(text)
  expect(sent[0]?.headers.get('content-type')).toBe(text === csv ? 'text/csv' : 'application/x-ndjson')
})

test.each(repeatable)('%s is sent again, whole and under the same key', async (_name, create, text) => {
  const { rapport, sent } = createFakeClient([new Error('lost'), json(503, {}), json(202, { id: 'imp_1' })])
  expect(await resultOf(rapport.imports.create(create()))).toMatchObject({ status: 'fulfilled' })
  expect(sent.map(({ body }) => body)).toEqual([text, text, text])
  expect(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1)
})

test.each(oneShot)('%s is not sent again, as its rest would be a shorter file', async (_name, create) => {
  for (const failure of [new Error('lost'), json(503, {}), json(429, {})]) {
    const { rapport, sent } = createFakeClient([failure])
    await rejectionOf(rapport.imports.create(create()))
    expect(sent).toHaveLength(1)
  }
})

test('contacts are sent in large chunks, as each chunk is a write to the connection', async () => {
  const lengths: number[] = []
  const fetch: typeof globalThis.fetch = async (_input, init) => {
    const body = init?.body as ReadableStream<Uint8Array>
    for await (const chunk of body) lengths.push(chunk.length)
    return json(202, {})
  }
  const count = 10_000
  const rapport = new Rapport({ baseUrl: 'https://crm.example', fetch })
  await rapport.imports.create({ contacts: Array(count).fill(people[0]) })
  expect(lengths.reduce((sum, length) => sum + length)).toBe(count * (ndjson.length / 2))
  expect(lengths.length).toBeLessThan(10)
})

describe('a source that fails', () => {
  async function* failing(error: Error) {
    yield 'email\n'
    throw error
  }

  test('rejects with its own error, and is not opened again', async () => {
    const { rapport, sent } = createFakeClient([])
    const error = new Error('the disk is gone')
    expect(await rejectionOf(rapport.imports.create({ csv: () => failing(error) }))).toBe(error)
    expect(sent).toHaveLength(1)
  })

  test('rejects also if fetch sends the part before the failure as a whole', async () => {
    const error = new Error('the disk is gone')
    const fetch: typeof globalThis.fetch = async (_input, init) => {
      await new Response(init?.body ?? null).text().catch(() => {})
      return json(202, { id: 'imp_1' })
    }
    const rapport = new Rapport({ baseUrl: 'https://crm.example', fetch })
    expect(await rejectionOf(rapport.imports.create({ csv: failing(error) }))).toBe(error)
  })

  test('such as a missing file, differs from a lost connection', async () => {
    vi.useRealTimers()
    const { rapport } = createFakeClient([])
    const upload = { csv: () => createReadStream('/nonexistent/contacts.csv') }
    await expect(rapport.imports.create(upload)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('a contact that JSON cannot represent is an error of the source', async () => {
    const { rapport } = createFakeClient([])
    const contacts = [{ email: 1n as unknown as string }]
    expect(await rejectionOf(rapport.imports.create({ contacts }))).toBeInstanceOf(TypeError)
  })
})

test('an upload that is rejected before its end closes its source', async () => {
  vi.useRealTimers()
  let isClosed = false
  async function* endless() {
    try {
      for (;;) {
        yield 'x'.repeat(1_000)
        await new Promise(setImmediate)
      }
    } finally {
      isClosed = true
    }
  }
  // The `fetch` of Node 20 reads on, although it has the response.
  const fetch: typeof globalThis.fetch = async (_input, init) => {
    void new Response(init?.body ?? null).text().catch(() => {})
    return json(401, { message: 'Unauthorized' })
  }
  const rapport = new Rapport({ baseUrl: 'https://crm.example', fetch })
  await expect(rapport.imports.create({ csv: endless() })).rejects.toMatchObject({ status: 401 })
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  expect(isClosed).toBe(true)
})

test('an upload whose connection is lost is a ConnectionError', async () => {
  vi.useRealTimers()
  const server = createServer((request) => request.once('data', () => request.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const rapport = new Rapport({ baseUrl: `http://127.0.0.1:${port}` })
  const error = await rapport.imports.create({ contacts: people.values() }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ConnectionError)
  server.close()
})
