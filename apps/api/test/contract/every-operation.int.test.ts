/** The table of the contract: which test keeps each operation, and which files keep each convention. */
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { listings } from '../listings.ts'
import { operationsOf, startTestApi } from '../testing.ts'

const root = new URL('../../', import.meta.url)

/** What holds on every route, and the files whose tests try it on every route. */
const conventions = {
  bodies: ['test/json-body', 'test/suggestions', 'test/public-query'],
  identifiers: ['src/http/error-handler', 'src/routes/deals'],
  timestamps: ['test/time-ranges'],
  'success codes': ['test/locations', 'src/http/conditional-requests/conditional-requests'],
  'nullable fields': ['src/routes/contacts'],
  'pagination and sorting': ['test/paging', 'test/page-bytes'],
  idempotency: [
    'src/http/handlers/idempotency',
    'src/http/handlers/idempotency-scope',
    'src/http/handlers/idempotency-key',
  ],
  'request id': ['src/http/error-handler'],
  errors: ['test/error-codes', 'test/required-fields', 'src/http/error-handler'],
  limits: ['src/http/rate-limit/rate-limit', 'src/http/rate-limit/rate-limit-exempt'],
  quotas: ['test/contract/quotas'],
  'optimistic locking': ['src/http/conditional-requests/conditional-requests'],
  cors: ['src/http/cors'],
  text: ['src/routes/contacts', 'test/json-body'],
  roles: ['src/http/authentication', 'src/http/malformed-credentials', 'test/demoted-member'],
  'records of other workspaces': ['test/isolation', 'test/isolation-pairs'],
}

const files = globSync('{src,test}/**/*.test.ts', { cwd: root })

/** The titles of all tests of the API. */
async function readTitles(): Promise<string[]> {
  const sources = await Promise.all(files.map((name) => readFile(new URL(name, root), 'utf8')))
  const pattern = /\b(?:test|describe)(?:\.each\([^]*?\))?\(\s*'([^']+)'/g
  return sources.flatMap((source) => [...source.matchAll(pattern)].map(([, title = '']) => title))
}

/** The operations that a title names: "GET and PATCH /deals/{id}, GET /deals: …". */
function namedIn(title: string): string[] {
  const pattern = /((?:GET|POST|PUT|PATCH|DELETE)(?:(?:,| and) (?:GET|POST|PUT|PATCH|DELETE))*) (\/[^\s:,?]*)/g
  return [...title.matchAll(pattern)].flatMap(([, methods = '', path = '']) =>
    methods.split(/, | and /).map((method) => `${method} ${path}`),
  )
}

const api = useForFile(() => startTestApi())

test('the title of a test names every operation', async () => {
  // `paging.int.test.ts` reads each listing.
  const read = listings.map((path) => `GET ${path}`)
  const named = new Set([...read, ...(await readTitles()).flatMap(namedIn)])
  const missing = (await operationsOf(api))
    .map(({ method, template }) => `${method} ${template}`)
    .filter((operation) => !named.has(operation))
  expect(missing).toEqual([])
})

test('a file of tests keeps each convention', () => {
  const named = Object.values(conventions).flat()
  expect(named.filter((name) => !files.includes(`${name}.int.test.ts`))).toEqual([])
})
