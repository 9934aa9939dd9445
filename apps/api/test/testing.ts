/** Starts the API with its own database, for tests. */
import { STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiKey, CreatedApiKey, Session } from '@rapport/core/auth/auth.schema.ts'
import { type ApiConfig, readApiConfig } from '@rapport/core/runtime/config.ts'
import { type Ctx, settingsFrom } from '@rapport/core/request/context.ts'
import { Id, type IdPrefix } from '@rapport/core/kernel/ids.ts'
import type { Role } from '@rapport/core/db/schema/index.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { cheapKeyBits, cheapPasswordCost, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { expect } from 'vitest'
import { buildApp, type Dependencies } from '../src/app.ts'
import type { ApiTimings } from '../src/http/server/api-timings.ts'
import type { ErrorBody } from '../src/http/error-handler.ts'
import { createResponseCheck } from './documented-responses.ts'

export type Json = Record<string, unknown>

export interface ApiResponse<Body = Json> {
  status: number
  headers: Record<string, string | undefined>
  text: string
  /** The parsed JSON body; undefined if the response is not JSON. */
  body: Body
}

export interface Call {
  /** The bearer token. */
  key?: string
  /** Sent as JSON. */
  body?: unknown
  /** Sent unchanged. Default content type: JSON. */
  raw?: string | Buffer
  headers?: Record<string, string>
  /** The address of the client. Default: a new one for each call, so that tests stay below rate limits. */
  from?: string
}

export interface TestWorkspace {
  id: string
  email: string
  password: string
  /** The OWNER's session. */
  token: string
  /** An API key with the role ADMIN. */
  key: string
}

export interface TestApi {
  readonly app: FastifyInstance
  readonly config: ApiConfig
  readonly database: TestDatabase
  call<Body = Json>(method: string, path: string, call?: Call): Promise<ApiResponse<Body>>
  /** POSTs, expects 201, and returns the record. */
  create<Body = Json>(path: string, key: string, body: unknown): Promise<Body>
  signUp(email?: string): Promise<TestWorkspace>
  issueKey(token: string, role: ApiKey['role']): Promise<string>
  /** Queries the database directly. */
  query(text: string, values?: unknown[]): Promise<Json[]>
  /** A context for calling core directly, for example to create link tokens. */
  ctx(workspaceId: string): Ctx
  /** The token in the latest email to this address, rendered as the worker does. */
  tokenMailedTo(address: string): Promise<string>
  /** Invites a new user to the workspace and accepts. Returns the session token, the id and the address. */
  join(workspace: TestWorkspace, role: Role): Promise<{ token: string; id: string; email: string }>
  /** Opens a real socket on 127.0.0.1. */
  listen(): Promise<{ url: string; port: number }>
  /** Returns and clears the logged lines, by default errors only. `close` throws if any are left. */
  takeLog(): string[]
  close(): Promise<void>
}

export const password = 'a long sentence that is secret'

/** The environment of an API in tests. It listens on a free port. */
export function testEnvironment(databaseUrl: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    PORT: '0',
    PUBLIC_URL: 'https://crm.example.com',
    SECRET_KEY: 'a long secret key that only the tests use',
    MAIL_FROM: 'news@crm.example.com',
    TRUST_PROXY: 'loopback',
    // No name server: a test that checks domains has its own.
    DNS_SERVER: '127.0.0.1:1',
    // No budget for confirmations: a test of sign-ups measures what it means.
    QUOTA_CONFIRMATIONS: '0',
    QUOTA_PERSONAL_DATA_MAILS: '0',
  }
}

/** Statistics alone need steps that hide the duration of a request. */
const testTimings: Partial<ApiTimings> = { constantTimeStepMs: 1 }

let addresses = 0

/** A client address that is unique in this test file. */
export function freshAddress(): string {
  addresses += 1
  return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`
}

let people = 0

/** An email address that is unique in this test file. */
export function freshEmail(): string {
  people += 1
  return `person${people}@example.com`
}

/** Starts the API without a socket. `environment` overrides `testEnvironment`. */
export async function startTestApi(
  options: Partial<Pick<Dependencies, 'redis' | 'now' | 'timings' | 'settings' | 'readUrl'>> & {
    environment?: Record<string, string>
    database?: TestDatabase
  } = {},
): Promise<TestApi> {
  const database = options.database ?? (await createTestDatabase())
  const config = readApiConfig({ ...testEnvironment(database.url), LOG_LEVEL: 'error', ...options.environment })
  const lines: string[] = []
  const log = pino({ level: config.LOG_LEVEL }, { write: (line: string) => void lines.push(line) })
  const { redis, now, readUrl } = options
  const timings = { ...testTimings, ...options.timings }
  const settings = { passwordCost: cheapPasswordCost, domainKeyBits: cheapKeyBits, ...options.settings }
  const app = await buildApp({ config, database, redis, log, now, timings, settings, ...(readUrl && { readUrl }) })
  await app.ready()
  const expectDocumented = createResponseCheck(app)
  const baseCtx = { db: database.db, requestId: 'test', settings: { ...settingsFrom(config), ...settings } }

  async function call<Body>(method: string, path: string, given: Call = {}): Promise<ApiResponse<Body>> {
    const payload = given.raw ?? (given.body === undefined ? undefined : JSON.stringify(given.body))
    const response = await app.inject({
      method: method as 'GET',
      url: path,
      ...(payload !== undefined && { payload }),
      headers: {
        'x-forwarded-for': given.from ?? freshAddress(),
        ...(given.key !== undefined && { authorization: `Bearer ${given.key}` }),
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        ...given.headers,
      },
    })
    expectDocumented(method, path, { status: response.statusCode, headers: response.headers })
    return {
      status: response.statusCode,
      headers: response.headers as ApiResponse['headers'],
      text: response.body,
      body: parseBody(response.body, response.headers['content-type']) as Body,
    }
  }

  async function create<Body>(path: string, key: string, body: unknown): Promise<Body> {
    const response = await call<Body>('POST', path, { key, body })
    if (response.status !== 201) throw new Error(`POST ${path} returned ${response.status}: ${response.text}`)
    return response.body
  }

  async function issueKey(token: string, role: ApiKey['role']) {
    return (await create<CreatedApiKey>('/api-keys', token, { name: role, role })).key
  }

  async function signUp(email = freshEmail()): Promise<TestWorkspace> {
    const session = await create<Session>('/auth/signup', '', { email, password })
    const { token, workspace } = session
    return { id: workspace.id, email, password, token, key: await issueKey(token, 'ADMIN') }
  }

  async function join(workspace: TestWorkspace, role: Role) {
    const email = freshEmail()
    await create('/invites', workspace.token, { email, role })
    const token = await readMailedToken(baseCtx, email)
    const accepted = await call('POST', '/auth/accept-invite', { body: { token, password } })
    if (accepted.status !== 204) throw new Error(`Accepting the invite returned ${accepted.status}: ${accepted.text}`)
    const { body } = await call<Session>('POST', '/auth/login', { body: { email, password } })
    return { token: body.token, id: body.user.id, email }
  }

  const takeLog = () => lines.splice(0)
  return {
    app,
    config,
    database,
    call,
    create,
    signUp,
    issueKey,
    takeLog,
    query: async (text, values = []) => (await database.pool.query<Json>(text, values)).rows,
    ctx: (workspaceId) => ({ ...baseCtx, workspaceId: Id('wsp').parse(workspaceId), actor: { kind: 'system' } }),
    tokenMailedTo: (address) => readMailedToken(baseCtx, address),
    join,
    async listen() {
      await app.listen({ host: '127.0.0.1', port: 0 })
      const { port } = app.server.address() as AddressInfo
      return { url: `http://127.0.0.1:${port}`, port }
    },
    async close() {
      await app.close()
      await database.close()
      const unexpected = takeLog()
      if (unexpected.length > 0) throw new Error(`The API logged unexpected errors:\n${unexpected.join('')}`)
    },
  }
}

function parseBody(text: string, contentType: unknown): unknown {
  if (text === '' || !String(contentType).startsWith('application/json')) return undefined
  return JSON.parse(text)
}

/** Counts the responses by status. */
export function countStatuses(responses: { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Matches a timestamp of a response. */
export const aTimestamp: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

export function anId(prefix: IdPrefix): unknown {
  return expect.stringMatching(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`))
}

/** Internals that an error must not expose: of the framework, the database and the code. */
const internals =
  /FST_|\b(select|insert|update|delete) .*\b(from|into|set)\b|drizzle|postgres|node_modules|\.[jt]s\b|\bat \S+ \(/i

/** Expects the common error body, without internals. */
export function expectError(response: ApiResponse<unknown>, status: number, message?: string): ErrorBody {
  expect(`${response.status} ${response.headers['content-type']} ${response.text}`).toMatch(
    new RegExp(`^${status} application/json; charset=utf-8 `),
  )
  expect(response.text).not.toMatch(internals)
  const body = response.body as ErrorBody
  expect([body.statusCode, body.error]).toEqual([status, STATUS_CODES[status]])
  expect(body.message).toBe(message ?? body.message)
  // The specification defines this body, without a code.
  const hasCode = body.message !== 'List has no subscribed recipients'
  expect(body.code).toEqual(hasCode ? expect.stringMatching(/^[a-z_]+$/) : undefined)
  expect(body.docUrl?.split('/docs/errors#')[1]).toBe(body.code)
  expect(response.headers['x-request-id']).toMatch(/^[\w.:=+/-]{1,128}$/)
  return body
}

/** An operation of `/openapi.json`. */
export interface Operation {
  method: string
  /** With every `{id}` replaced by its example, which is an unknown id. */
  path: string
  /** With `{id}`, as in the document. */
  template: string
  isSecured: boolean
  /** Whether it is for visitors: a page, or a route that forms on any site call. */
  isPublic: boolean
  /** The names of the query parameters. */
  query: string[]
  hasBody: boolean
  /** Whether the body has a required field. */
  needsBody: boolean
  /** Whether the body is a posted form, as for pages. */
  takesForm: boolean
  /** The example of the body. */
  example: unknown
}

interface DocumentedOperation {
  security?: unknown[]
  requestBody?: { required?: boolean; content: Record<string, { example?: unknown }> }
  parameters?: { name: string; in: string; example?: string }[]
}

/** The operations that need no credential, but are for programs. */
const forPrograms = /^\/(auth\/|health$|ready$|metrics$|openapi\.json$|docs)/

/** Every operation of the OpenAPI document, so that tests cover new routes automatically. */
export async function operationsOf(api: TestApi): Promise<Operation[]> {
  const { body } = await api.call<{ paths: Record<string, Record<string, DocumentedOperation>> }>(
    'GET',
    '/openapi.json',
  )
  return Object.entries(body.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { security = [], requestBody, parameters = [] }]) => ({
      method: method.toUpperCase(),
      template,
      path: parameters
        .filter((parameter) => parameter.in === 'path')
        .reduce((path, { name, example }) => path.replace(`{${name}}`, example ?? 'no-example'), template),
      isSecured: security.length > 0,
      isPublic: security.length === 0 && !forPrograms.test(template),
      query: parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
      hasBody: requestBody !== undefined,
      needsBody: requestBody?.required === true,
      takesForm: requestBody?.content['application/x-www-form-urlencoded'] !== undefined,
      example: requestBody?.content['application/json']?.example,
    })),
  )
}
