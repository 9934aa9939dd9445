import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createFakeClient, json, resultOf, rejectionOf, useFakeTime } from '../test/fake-fetch.ts'
import { ApiError, ConnectionError, RapportError, ServerError, TimeoutError, ValidationError } from './errors.ts'
import { Rapport } from './rapport.ts'

describe('an error response', () => {
  const errorOf = async (response: Response) => {
    const { rapport } = createFakeClient([response], { maxRetries: 0 })
    return rapport.contacts.get('con_1').then(
      () => expect.unreachable(),
      (error: unknown) => error as ApiError,
    )
  }

  test('has the fields of the API', async () => {
    const body = {
      statusCode: 400,
      error: 'Bad Request',
      message: 'email: is required',
      code: 'validation_error',
      docUrl: 'https://crm.example.com/docs/errors#validation_error',
      issues: [
        { path: 'email', message: 'is required' },
        { path: '', message: 'must name a list' },
      ],
    }
    const error = await errorOf(json(400, body, { 'x-request-id': 'req-1', 'retry-after': '3' }))
    expect(error).toBeInstanceOf(ValidationError)
    expect(error).toBeInstanceOf(RapportError)
    expect(error).toMatchObject({ status: 400, code: 'validation_error', requestId: 'req-1', retryAfterSeconds: 3 })
    expect(error).toMatchObject({ name: 'ValidationError', docUrl: body.docUrl, issues: body.issues, body })
    expect(error.message).toBe('400 email: is required\n  must name a list')
    expect(error.headers.get('x-request-id')).toBe('req-1')
  })

  test.each([
    [401, 'AuthenticationError'],
    [403, 'PermissionError'],
    [404, 'NotFoundError'],
    [409, 'ConflictError'],
    [412, 'PreconditionFailedError'],
    [418, 'ApiError'],
    [422, 'IdempotencyError'],
    [429, 'RateLimitError'],
    [500, 'ServerError'],
    [599, 'ServerError'],
  ])('with status %s is a %s', async (status, name) => {
    const error = await errorOf(json(status, { message: 'No' }))
    expect(error).toBeInstanceOf(ApiError)
    expect([error.name, error.status, error.message]).toEqual([name, status, `${status} No`])
  })

  test('of a proxy keeps its text', async () => {
    const html = '<html><title>502 Bad Gateway</title></html>'
    const error = await errorOf(new Response(html, { status: 502, headers: { 'content-type': 'text/html' } }))
    expect(error).toBeInstanceOf(ServerError)
    expect(error).toMatchObject({ status: 502, code: undefined, issues: [], requestId: undefined, body: html })
    expect(error.message).toBe('502 The API returned no error message')
  })

  test.each([null, [], 'text', 7, { issues: null }, { issues: 'none' }, { issues: {} }])(
    'may have any JSON as its body: %j',
    async (body) => {
      expect(await errorOf(json(500, body))).toMatchObject({ name: 'ServerError', status: 500, issues: [], body })
    },
  )
})

test('a 204 resolves with undefined', async () => {
  const { rapport } = createFakeClient([new Response(null, { status: 204 })])
  await expect(rapport.contacts.delete('con_1')).resolves.toBeUndefined()
})

test('a 2xx response that is not JSON is an error with its text, without a retry', async () => {
  const { rapport } = createFakeClient([new Response('<html>Log in to the Wi-Fi</html>')])
  const error = await rapport.contacts.get('con_1').catch((reason: unknown) => reason)
  expect(error).toMatchObject({ name: 'RapportError' })
  expect((error as Error).message).toMatch(/^GET https:\/\/crm\.example\/contacts\/con_1: .*<html>/)
})

describe('with fake timers', () => {
  beforeEach(() => {
    useFakeTime()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('each attempt has the whole timeout, and the last one rejects with a TimeoutError', async () => {
    const { rapport, sent } = createFakeClient(['hang', 'hang', 'hang'], { timeoutMs: 700 })
    const error = await rejectionOf(rapport.contacts.get('con_1'))
    expect(error).toBeInstanceOf(TimeoutError)
    expect(error).toBeInstanceOf(ConnectionError)
    expect((error as Error).message).toBe('GET https://crm.example/contacts/con_1: no response within 700 ms')
    expect(sent).toHaveLength(3)
    expect(Number(sent[2]?.atMs) - Number(sent[1]?.atMs)).toBeGreaterThanOrEqual(700 + 500)
  })

  test('the timeout of a call replaces that of the client, and the default is 30 seconds', async () => {
    const lasting = async (ofClient: object, ofCall: object) => {
      const { rapport } = createFakeClient(['hang'], { maxRetries: 0, ...ofClient })
      const startedAt = Date.now()
      await rejectionOf(rapport.contacts.get('con_1', ofCall))
      return Date.now() - startedAt
    }
    expect(await lasting({ timeoutMs: 900 }, { timeoutMs: 100 })).toBe(100)
    expect(await lasting({ timeoutMs: 900 }, {})).toBe(900)
    expect(await lasting({}, {})).toBe(30_000)
  })

  test.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, 2 ** 31])(
    'a timeout of %s never expires',
    async (timeoutMs) => {
      const { rapport } = createFakeClient([json(200, { id: 'con_1' })])
      const got = rapport.contacts.get('con_1', { timeoutMs })
      expect(vi.getTimerCount()).toBe(0)
      expect(await got).toEqual({ id: 'con_1' })
    },
  )

  test('no timer is left behind', async () => {
    const { rapport } = createFakeClient([json(200, {}), json(404, {}), new Error('lost'), json(200, {})])
    await resultOf(rapport.contacts.get('con_1'))
    await resultOf(rapport.contacts.get('con_1', { maxRetries: 0 }))
    await resultOf(rapport.contacts.get('con_1', { maxRetries: 0 }))
    const file = await rapport.contacts.export()
    expect(vi.getTimerCount()).toBe(0)
    await file.cancel()
  })

  test('a signal that is already aborted rejects with its reason, and nothing is sent', async () => {
    const { rapport, sent } = createFakeClient([])
    const open = vi.fn<() => string>(() => 'email\n')
    const signal = AbortSignal.abort('stop')
    expect(await rejectionOf(rapport.contacts.get('con_1', { signal }))).toBe('stop')
    expect(await rejectionOf(rapport.imports.create({ csv: open }, {}, { signal }))).toBe('stop')
    expect(sent).toEqual([])
    expect(open).not.toHaveBeenCalled()
  })

  test.each(['during an attempt', 'between two attempts'])('an abort %s rejects with the reason', async (moment) => {
    const { rapport, sent } = createFakeClient([moment === 'during an attempt' ? 'hang' : json(503, {})])
    const controller = new AbortController()
    const got = rapport.contacts.get('con_1', { signal: controller.signal })
    got.catch(() => {})
    await vi.advanceTimersByTimeAsync(10)
    const reason = new Error('the user left')
    controller.abort(reason)
    await expect(got).rejects.toBe(reason)
    expect(sent).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('with a real connection', () => {
  let respond: (response: ServerResponse) => void
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    request.resume()
    respond(response)
  })
  let rapport: Rapport
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    rapport = new Rapport({ baseUrl: `http://127.0.0.1:${port}`, maxRetries: 0 })
  })
  beforeEach(() => {
    requests = 0
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  const errorOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error as Error)

  test.each([
    ['content-length', { 'content-length': '100' }],
    ['chunks', {}],
  ])('a response with %s that is cut is a ConnectionError', async (_name, headers) => {
    respond = (response) => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers })
      response.write('{"id":"con_1"}', () => response.destroy())
    }
    expect(await errorOf(rapport.contacts.get('con_1'))).toBeInstanceOf(ConnectionError)
    const file = await rapport.contacts.export()
    const error = await errorOf(new Response(file).text())
    expect(error).toBeInstanceOf(ConnectionError)
    expect((error as Error).message).toMatch(/^The response was cut: /)
  })

  test('a stalled response is a TimeoutError', async () => {
    respond = (response) => {
      response.writeHead(200)
      response.write('{')
    }
    expect(await errorOf(rapport.contacts.get('con_1', { timeoutMs: 50 }))).toBeInstanceOf(TimeoutError)
  })

  test('a redirect is not followed, as it would turn a POST into a GET', async () => {
    respond = (response) => response.writeHead(301, { location: 'https://crm.example/contacts' }).end()
    const error = await errorOf(rapport.contacts.create({ email: 'ada@example.com' }))
    expect(error).toMatchObject({ name: 'ApiError', status: 301 })
    expect(error).toHaveProperty(
      'message',
      expect.stringMatching(/^301 http:\/\/127.0.0.1:\d+\/contacts redirects to https:\/\/crm/),
    )
    expect(requests).toBe(1)
  })

  test('an abort ends an export that is being read, with its reason', async () => {
    respond = (response) => {
      response.writeHead(200)
      response.write('email\n')
    }
    const controller = new AbortController()
    const file = await rapport.contacts.export({ format: 'csv' }, { signal: controller.signal })
    const reader = file.getReader()
    expect(await reader.read()).toMatchObject({ done: false })
    const rest = reader.read()
    controller.abort('enough')
    await expect(rest).rejects.toBe('enough')
  })

  test('a reader that cancels an export closes the connection', async () => {
    const closed = Promise.withResolvers<void>()
    respond = (response) => {
      response.on('close', () => closed.resolve())
      response.write('email\n')
    }
    const file = await rapport.contacts.export({ format: 'csv' })
    await file.cancel()
    expect(await closed.promise).toBeUndefined()
  })
})
