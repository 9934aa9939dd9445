/** Every error response has a `code`, whichever part of the API rejects the request. */
import { errorCodes } from '@rapport/core/kernel/errors.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { type ApiResponse, type Call, type Operation, operationsOf, startTestApi } from './testing.ts'

const api = useForFile(() =>
  startTestApi({ environment: { DASHBOARD_PASSWORD: 'a long password', METRICS_TOKEN: 'a-token-of-24-characters' } }),
)
const workspace = useForFile(() => api.signUp())
let operations: Operation[]
beforeAll(async () => {
  operations = await operationsOf(api)
})

/** Pages show errors in HTML. A 429 is worded by the specification. */
function expectCode(name: string, response: ApiResponse<unknown>) {
  if (response.status < 400 || response.headers['content-type']?.startsWith('text/html')) return
  const { code } = response.body as { code?: string }
  expect([name, response.status, code]).toEqual([name, response.status, expect.toBeOneOf([...errorCodes])])
}

const invalidCalls: Record<string, Call> = {
  'no credential': {},
  'another content type': { raw: 'x', headers: { 'content-type': 'application/x-nonsense' } },
  'malformed JSON': { raw: '{"a":' },
  'a body of 5 MiB': { raw: `"${'a'.repeat(5 * 1_048_576)}"` },
  'a body that is no object': { raw: '7' },
  'an unknown field': { body: { nonsense: 1 } },
}

test.each(Object.entries(invalidCalls))('every operation rejects %s with a code', async (name, call) => {
  for (const { method, path, isSecured } of operations) {
    // Files and pages take other bodies, and GET takes none.
    const key = isSecured && name !== 'no credential' ? { key: workspace.token } : {}
    expectCode(`${method} ${path}`, await api.call(method, path, { ...call, ...key }))
  }
})

test('unknown routes, methods and queries, the dashboard and metrics have a code too', async () => {
  const requests = ['GET /nope', 'PUT /tasks', 'GET /contacts?nonsense=1', 'GET /queues', 'GET /metrics', 'GET /%ff']
  for (const request of requests) {
    const [method = '', path = ''] = request.split(' ')
    const response = await api.call(method, path, { key: workspace.key })
    expect([request, response.status >= 400]).toEqual([request, true])
    expectCode(request, response)
  }
})
