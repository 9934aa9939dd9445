/** Programs of users against the declarations of the package, with two versions of TypeScript. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { goEnvironment } from '@rapport/testing/processes/go-environment.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildPackage } from './build-package.ts'

const run = promisify(execFile)
const sdk = resolve(import.meta.dirname, '..')
const root = resolve(sdk, '../..')

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-sdk-'))
  const installed = join(folder, 'node_modules/@rapport/sdk')
  await mkdir(installed, { recursive: true })
  await buildPackage(installed)
  await symlink(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
})
afterAll(() => rm(folder, { recursive: true }))

const compilers = {
  'TypeScript 6': join(sdk, 'node_modules/.bin/tsc'),
  'TypeScript 7': join(root, 'node_modules/.bin/tsc'),
}
const environments = {
  'a browser': { lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'], types: [] },
  Node: { lib: ['es2022'], types: ['node'] },
}

/** Compiles programs, each a file, and returns the errors. */
async function compile(compiler: string, environment: object, programs: string[]): Promise<string[]> {
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    ...environment,
  }
  const files = programs.map((_program, index) => `program${index}.ts`)
  await Promise.all(programs.map((program, index) => writeFile(join(folder, files[index] ?? ''), program)))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const compiled = run(compiler, ['--pretty', 'false'], { cwd: folder, env: goEnvironment() })
  const { stdout } = await compiled.catch((error: unknown) => error as { stdout: string })
  return stdout.split('\n').filter((line) => line.includes('error TS'))
}

const setUp = `
import { ApiError, ConflictError, type Contact, Rapport, unwrapWebhook, type WebhookEvent, parseNdjson } from '@rapport/sdk'
const rapport = new Rapport({ baseUrl: 'https://crm.example', apiKey: undefined as string | undefined })
`

const correct = `${setUp}
export async function useRecords(email: string, signal: AbortSignal | undefined) {
  const contact: Contact = await rapport.contacts.create({ email, tags: ['vip'] }, { signal, idempotencyKey: undefined })
  const { data, response } = await rapport.contacts.get(contact.id).withResponse()
  const etag: string | null = response.headers.get('etag')
  const nothing: void = await rapport.contacts.delete(data.id, { ifMatch: etag ?? undefined })
  for await (const { id, email } of rapport.contacts.list({ tag: ['vip'], 'customField.plan': 'pro' })) {
    const texts: [string, string | null] = [id, email]
    void texts
  }
  const { data: deals, nextCursor } = await rapport.deals.list({ limit: 1 })
  const cents: number | undefined = deals[0]?.valueCents
  const cursor: string | null = nextCursor
  return [nothing, cents, cursor]
}

export function handle(event: WebhookEvent): string | null | undefined {
  if ('redacted' in event.data) return undefined
  switch (event.type) {
    case 'contact.created':
      return event.data.email
    case 'deal.won':
      return event.data.valueCents.toFixed()
    case 'form.submitted':
      return event.data.formId
    default:
      return event.id
  }
}

export function describeError(error: unknown) {
  if (error instanceof ConflictError && error.code === 'already_exists') return error.requestId
  if (error instanceof ApiError) return error.issues.map(({ path, message }) => \`\${path} \${message}\`).join()
  throw error
}

export async function stream(source: AsyncIterable<Uint8Array>, request: Request) {
  await rapport.imports.create({ csv: source }, { onConflict: 'update' })
  const { id } = await rapport.imports.create({ contacts: () => [{ email: 'ada@example.com' }] })
  await rapport.imports.wait(id, { onProgress: undefined })
  const contacts: Contact[] = []
  for await (const contact of parseNdjson(await rapport.contacts.export({ format: 'ndjson' }))) contacts.push(contact)
  await rapport.events.follow(null, async (event) => handle(event), { signal: request.signal })
  return unwrapWebhook(await request.text(), request.headers, ['old', 'new'], { toleranceSeconds: 60 })
}
`

const onlyInNode = `
import { createReadStream, createWriteStream } from 'node:fs'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
export const server = createServer(async (request, response) => {
  const event = await rapport.webhooks.unwrap(await buffer(request), request.headers, 'whsec_secret')
  response.end(event.type)
})
export async function copy() {
  await rapport.imports.create({ csv: () => createReadStream('contacts.csv') })
  await pipeline(await rapport.contacts.export({ format: 'csv' }), createWriteStream('contacts.csv'))
}
`

const wrong = {
  'a field with a wrong name': "await rapport.contacts.create({ email: 'a@example.com', first_name: 'Ada' })",
  'a wrong filter': 'await rapport.contacts.list({ tags: ["vip"] })',
  'a wrong event type': "export const isNew = (event: WebhookEvent) => event.type === 'contact.new'",
  'a wrong error code': "export const isTaken = (error: ApiError) => error.code === 'taken'",
  'a field of another event':
    "export const of = (event: WebhookEvent) => event.type === 'deal.won' && !('redacted' in event.data) && event.data.email",
  'a missing path parameter': 'await rapport.contacts.get()',
  'an unknown option': "await rapport.contacts.get('con_1', { retries: 3 })",
}

describe.each(Object.entries(compilers))('with %s', (version, compiler) => {
  // TypeScript 6 takes 6 s of processor time for each, five times as long as 7.
  const chosen = Object.entries(environments).filter(
    ([name]) => isFullRun || version !== 'TypeScript 6' || name === 'Node',
  )
  test.each(chosen)('a correct program for %s compiles', async (name, environment) => {
    const program = name === 'Node' ? correct + onlyInNode : correct
    expect(await compile(compiler, environment, [program])).toEqual([])
  })
})

test('each mistake is an error', async () => {
  const programs = Object.values(wrong).map((mistake) => setUp + mistake)
  const errors = await compile(compilers['TypeScript 7'], environments.Node, programs)
  const lineOfMistake = setUp.split('\n').length
  const expected = programs.map((_program, index) => `program${index}.ts(${lineOfMistake},`)
  expect(errors.map((error) => error.slice(0, error.indexOf(',') + 1)).toSorted()).toEqual(expected)
})
