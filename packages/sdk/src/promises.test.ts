import { describe, expect, test, vi } from 'vitest'
import { collect, createFakeClient, json } from '../test/fake-fetch.ts'
import { NotFoundError } from './errors.ts'
import type { Rapport } from './rapport.ts'

const found = () => json(200, { id: 'con_1' }, { etag: '"1"' })
const missing = () => json(404, { message: 'Contact not found' })
const get = (response: () => Response) => createFakeClient([response]).rapport.contacts.get('con_1')

describe('the promise of a call', () => {
  test('is a promise of the parsed body', async () => {
    const promise = get(found)
    expect(promise).toBeInstanceOf(Promise)
    expect(await promise).toEqual({ id: 'con_1' })
    expect(await promise).toEqual({ id: 'con_1' })
    expect(await promise.then(({ id }) => id)).toBe('con_1')
    expect(await promise.then(null)).toEqual({ id: 'con_1' })
    expect(await promise.catch(() => 'failed')).toEqual({ id: 'con_1' })
    expect(await Promise.all([promise, Promise.resolve(promise)])).toEqual([{ id: 'con_1' }, { id: 'con_1' }])
    expect(await Promise.race([promise, new Promise(() => {})])).toEqual({ id: 'con_1' })
  })

  test('rejects with the error, which then, catch and await receive', async () => {
    const promise = get(missing)
    await expect(promise).rejects.toBeInstanceOf(NotFoundError)
    expect(await promise.catch((error: unknown) => (error as NotFoundError).status)).toBe(404)
    expect(await promise.then(null, () => 'rejected')).toBe('rejected')
    await expect(promise.then((contact) => contact.id)).rejects.toBeInstanceOf(NotFoundError)
    await expect(promise.catch(null)).rejects.toBeInstanceOf(NotFoundError)
    await expect(promise.withResponse()).rejects.toBeInstanceOf(NotFoundError)
  })

  test('runs finally in both cases, and keeps the outcome', async () => {
    const ended = vi.fn<() => void>()
    expect(await get(found).finally(ended)).toEqual({ id: 'con_1' })
    await expect(get(missing).finally(ended)).rejects.toBeInstanceOf(NotFoundError)
    expect(ended).toHaveBeenCalledTimes(2)
    expect(ended).toHaveBeenCalledWith()
  })

  test('has the response beside the body', async () => {
    const { rapport, sent } = createFakeClient([found])
    const promise = rapport.contacts.get('con_1')
    const { data, response } = await promise.withResponse()
    expect(data).toEqual({ id: 'con_1' })
    expect([response.status, response.headers.get('etag')]).toEqual([200, '"1"'])
    expect(await promise).toEqual(data)
    expect(sent).toHaveLength(1)
  })
})

describe('a failure', () => {
  /** Runs the work, and returns the unhandled rejections. */
  async function collectUnhandled(work: () => unknown): Promise<unknown[]> {
    const unhandled: unknown[] = []
    const listeners = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', (reason) => unhandled.push(reason))
    try {
      await work()
      // Node reports after the microtasks of a turn of the event loop.
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
    } finally {
      process.removeAllListeners('unhandledRejection')
      for (const listener of listeners) process.on('unhandledRejection', listener)
    }
    return unhandled
  }

  test('is reported if the call is not awaited', async () => {
    const unhandled = await collectUnhandled(() => void get(missing))
    expect(unhandled).toEqual([expect.any(NotFoundError)])
  })

  test.each<[string, (rapport: Rapport) => Promise<unknown>]>([
    ['the call', (rapport) => rapport.contacts.get('con_1').catch(() => {})],
    [
      'withResponse',
      (rapport) =>
        rapport.contacts
          .get('con_1')
          .withResponse()
          .catch(() => {}),
    ],
    ['a page', (rapport) => rapport.contacts.list().catch(() => {})],
    [
      'finally',
      (rapport) =>
        rapport.contacts
          .get('con_1')
          .finally(() => {})
          .catch(() => {}),
    ],
    ['an iteration', (rapport) => collect(rapport.contacts.list()).catch(() => {})],
  ])('is not reported if only %s is awaited', async (_name, call) => {
    const unhandled = await collectUnhandled(() => call(createFakeClient([missing]).rapport))
    expect(unhandled).toEqual([])
  })
})

describe('a listing', () => {
  const page = (ids: string[], nextCursor: string | null) => () =>
    json(200, { data: ids.map((id) => ({ id })), nextCursor })
  const pages = [page(['a', 'b'], 'c1'), page([], 'c2'), page(['c'], null)]
  const idsOf = async (listing: AsyncIterable<{ id: string }>) => (await collect(listing)).map(({ id }) => id).join('')

  test('is a promise of the first page', async () => {
    const { rapport, sent } = createFakeClient(pages)
    const first = await rapport.contacts.list({ limit: 2 })
    expect(first).toEqual({ data: [{ id: 'a' }, { id: 'b' }], nextCursor: 'c1' })
    expect(sent).toHaveLength(1)
  })

  test('yields the records of all pages, also after an empty one, with the same query', async () => {
    const { rapport, sent } = createFakeClient(pages)
    expect(await idsOf(rapport.contacts.list({ tag: ['x'], limit: 2 }))).toBe('abc')
    expect(sent.map(({ path }) => path)).toEqual([
      '/contacts?tag=x&limit=2',
      '/contacts?tag=x&limit=2&cursor=c1',
      '/contacts?tag=x&limit=2&cursor=c2',
    ])
  })

  test('starts at the cursor of the query', async () => {
    const { rapport, sent } = createFakeClient([page(['b'], 'c2'), page(['c'], null)])
    expect(await idsOf(rapport.contacts.list({ cursor: 'c1' }))).toBe('bc')
    expect(sent.map(({ path }) => path)).toEqual(['/contacts?cursor=c1', '/contacts?cursor=c2'])
  })

  test('requests no further page when the consumer breaks or throws', async () => {
    const breaking = createFakeClient(pages)
    for await (const { id } of breaking.rapport.contacts.list()) if (id === 'b') break
    expect(breaking.sent).toHaveLength(1)
    const throwing = createFakeClient(pages)
    const read = async () => {
      for await (const { id } of throwing.rapport.contacts.list()) throw new Error(id)
    }
    await expect(read()).rejects.toThrow('a')
    expect(throwing.sent).toHaveLength(1)
  })

  test('throws the error of a later page after the records before it', async () => {
    const { rapport } = createFakeClient([page(['a'], 'c1'), missing])
    const ids: string[] = []
    const read = async () => {
      for await (const { id } of rapport.contacts.list()) ids.push(id)
    }
    await expect(read()).rejects.toBeInstanceOf(NotFoundError)
    expect(ids).toEqual(['a'])
  })

  test('can be iterated after its first page was awaited, without another request', async () => {
    const { rapport, sent } = createFakeClient(pages)
    const listing = rapport.contacts.list()
    await listing
    expect(await idsOf(listing)).toBe('abc')
    expect(sent).toHaveLength(3)
  })

  test('passes the options on to each page', async () => {
    const { rapport, sent } = createFakeClient(pages)
    const controller = new AbortController()
    const read = async () => {
      for await (const { id } of rapport.contacts.list(
        {},
        { signal: controller.signal, headers: { 'x-request-id': 'r' } },
      ))
        if (id === 'b') controller.abort('enough')
    }
    await expect(read()).rejects.toBe('enough')
    expect(sent.map(({ headers }) => headers.get('x-request-id'))).toEqual(['r'])
  })
})
