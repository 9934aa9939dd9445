/** The API on a database of its own, as its tests call it. */
import { STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiKey, CreatedApiKey, Session } from '@rapport/core/auth/auth.schema.ts'
import { type ApiConfig, readApiConfig } from '@rapport/core/runtime/config.ts'
import { type Ctx, settingsFrom } from '@rapport/core/request/context.ts'
import { Id, type IdPrefix } from '@rapport/core/kernel/ids.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import type { Replica } from '@rapport/core/db/read-replica.ts'
import type { Role } from '@rapport/core/db/schema/index.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { expect } from 'vitest'
import { buildApp } from '../src/app.ts'
import type { ErrorBody } from '../src/http/error-handler.ts'
import { createStatusCheck } from './documented-statuses.ts'

export type Json = Record<string, unknown>

export interface ApiResponse<Body = Json> {
  status: number
  headers: Record<string, string | undefined>
  text: string
  /** What JSON says; undefined when the answer is none. */
  body: Body
}

export interface Call {
  /** The bearer token. */
  key?: string
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is; JSON unless `headers` say otherwise. */
  raw?: string | Buffer
  headers?: Record<string, string>
  /** The client's address; a fresh one for each call unless given, so that no test meets a limit by accident. */
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
  /** POSTs what must be created, and returns the record. */
  create<Body = Json>(path: string, key: string, body: unknown): Promise<Body>
  signUp(): Promise<TestWorkspace>
  issueKey(token: string, role: ApiKey['role']): Promise<string>
  /** What the database says, asked past the API. */
  query(text: string, values?: unknown[]): Promise<Json[]>
  /** On whose behalf core is asked what no route tells: the tokens of links, for one. */
  ctx(workspaceId: string): Ctx
  /** The token in the newest mail to this address, rendered as the worker would. */
  tokenMailedTo(address: string): Promise<string>
  /** Somebody new in the workspace, invited and come. Answers their session and their id. */
  join(workspace: TestWorkspace, role: Role): Promise<{ token: string; id: string; email: string }>
  /** Opens a real socket on 127.0.0.1. */
  listen(): Promise<{ url: string; port: number }>
  /** What was logged since the last time: errors, unless LOG_LEVEL says more. Who expects some takes it, as `close` throws. */
  takeLog(): string[]
  close(): Promise<void>
}

export const password = 'a long sentence nobody knows'

/** The environment of an API of the tests, which listens where there is room and logs where. */
export function testEnvironment(databaseUrl: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    PORT: '0',
    PUBLIC_URL: 'https://crm.example.com',
    SECRET_KEY: 'only the tests know this key, and it is long',
    MAIL_FROM: 'news@crm.example.com',
    TRUST_PROXY: 'loopback',
  }
}

let addresses = 0

/** An address that no other call of this file comes from. */
export function freshAddress(): string {
  addresses += 1
  return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`
}

let people = 0

/** A mail address that nothing else of this file has. */
export function freshEmail(): string {
  people += 1
  return `person${people}@example.com`
}

/** Starts the API without a socket. `environment` comes on top of `testEnvironment`. */
export async function startTestApi(
  options: {
    environment?: Record<string, string>
    redis?: RedisClient
    database?: TestDatabase
    replica?: Replica
    /** The clock of the process. */
    now?: () => number
  } = {},
): Promise<TestApi> {
  const database = options.database ?? (await createTestDatabase())
  const config = readApiConfig({ ...testEnvironment(database.url), LOG_LEVEL: 'error', ...options.environment })
  const lines: string[] = []
  const log = pino({ level: config.LOG_LEVEL }, { write: (line: string) => void lines.push(line) })
  const { replica, redis, now } = options
  const app = await buildApp({ config, database, replica, redis, log, now })
  await app.ready()
  const expectDocumented = createStatusCheck(app)
  const baseCtx = { db: database.db, requestId: 'test', settings: settingsFrom(config) }

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
    expectDocumented(method, path, response.statusCode)
    return {
      status: response.statusCode,
      headers: response.headers as ApiResponse['headers'],
      text: response.body,
      body: parseBody(response.body, response.headers['content-type']) as Body,
    }
  }

  async function create<Body>(path: string, key: string, body: unknown): Promise<Body> {
    const response = await call<Body>('POST', path, { key, body })
    if (response.status !== 201) throw new Error(`POST ${path} answered ${response.status}: ${response.text}`)
    return response.body
  }

  async function issueKey(token: string, role: ApiKey['role']) {
    return (await create<CreatedApiKey>('/api-keys', token, { name: role, role })).key
  }

  async function signUp(): Promise<TestWorkspace> {
    const email = freshEmail()
    const session = await create<Session>('/auth/signup', '', { email, password })
    const { token, workspace } = session
    return { id: workspace.id, email, password, token, key: await issueKey(token, 'ADMIN') }
  }

  async function join(workspace: TestWorkspace, role: Role) {
    const email = freshEmail()
    await create('/invites', workspace.token, { email, role })
    const token = await readMailedToken(baseCtx, email)
    const accepted = await call('POST', '/auth/accept-invite', { body: { token, password } })
    if (accepted.status !== 204) throw new Error(`Accepting answered ${accepted.status}: ${accepted.text}`)
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
      if (unexpected.length > 0) throw new Error(`The API failed where no test expected it:\n${unexpected.join('')}`)
    },
  }
}

function parseBody(text: string, contentType: unknown): unknown {
  if (text === '' || !String(contentType).startsWith('application/json')) return undefined
  return JSON.parse(text)
}

/** How many answers have each status. */
export function countStatuses(responses: { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** How a moment looks in every answer. */
export const aTimestamp: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

export function anId(prefix: IdPrefix): unknown {
  return expect.stringMatching(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`))
}

/** What an error must never tell: of the framework, the database or the code. */
const internals =
  /FST_|\b(select|insert|update|delete) .*\b(from|into|set)\b|drizzle|postgres|node_modules|\.[jt]s\b|\bat \S+ \(/i

/** Checks that an answer is an error as every route gives it, and tells nothing of the inside. */
export function expectError(response: ApiResponse<unknown>, status: number, message?: string): ErrorBody {
  expect(`${response.status} ${response.headers['content-type']} ${response.text}`).toMatch(
    new RegExp(`^${status} application/json; charset=utf-8 `),
  )
  expect(response.text).not.toMatch(internals)
  const body = response.body as ErrorBody
  expect([body.statusCode, body.error]).toEqual([status, STATUS_CODES[status]])
  expect(body.message).toBe(message ?? body.message)
  expect(response.headers['x-request-id']).toMatch(/^[\w.:=+/-]{1,128}$/)
  return body
}

/** An operation as `/openapi.json` describes it. */
export interface Operation {
  method: string
  /** With every `{id}` filled in by its example, which is nobody's. */
  path: string
  /** As the document writes it. */
  template: string
  isSecured: boolean
  hasBody: boolean
  /** A page, whose body is a posted form. */
  takesForm: boolean
  /** The body that the document gives as an example. */
  example: unknown
}

interface DocumentedOperation {
  security?: unknown[]
  requestBody?: { content: Record<string, { example?: unknown }> }
  parameters?: { name: string; in: string; example?: string }[]
}

/** Every operation of the API's own description: what walks them covers a new route the day it is written. */
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
      hasBody: requestBody !== undefined,
      takesForm: requestBody?.content['application/x-www-form-urlencoded'] !== undefined,
      example: requestBody?.content['application/json']?.example,
    })),
  )
}
