import { readdir, readFile } from 'node:fs/promises'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { operationsOf, startTestApi } from '../testing.ts'

const api = useForFile(() => startTestApi())

/** The titles of all tests of this folder. */
async function readTitles(): Promise<string[]> {
  const files = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.test.ts'))
  const sources = await Promise.all(files.map((name) => readFile(new URL(name, import.meta.url), 'utf8')))
  return sources.flatMap((source) => [...source.matchAll(/\btest\(\s*'([^']+)'/g)].map(([, title = '']) => title))
}

/** The operations that a title names: "GET and PATCH /deals/{id}, GET /deals: …". */
function namedIn(title: string): string[] {
  const pattern = /((?:GET|POST|PUT|PATCH|DELETE)(?:(?:,| and) (?:GET|POST|PUT|PATCH|DELETE))*) (\/[^\s:,]*)/g
  return [...title.matchAll(pattern)].flatMap(([, methods = '', path = '']) =>
    methods.split(/, | and /).map((method) => `${method} ${path}`),
  )
}

test('a test of the contract names every operation', async () => {
  const named = new Set((await readTitles()).flatMap(namedIn))
  const missing = (await operationsOf(api))
    .map(({ method, template }) => `${method} ${template}`)
    .filter((operation) => !named.has(operation))
  expect(missing).toEqual([])
})
