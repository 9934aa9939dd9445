/** What wraps the handler of a route is visible where the route stands. */
import { expect, test } from 'vitest'
import { sourceFiles } from './source-files.ts'

interface Route {
  /** Such as `POST /contacts`. */
  name: string
  code: string
}

/** The routes that require a credential. */
const routes = sourceFiles
  .filter(({ path, isTest }) => path.startsWith('apps/api/src/') && !isTest)
  .flatMap(({ code }) => code.split(/\bapp\.(?=(?:get|post|put|patch|delete)\()/).slice(1))
  .map((code): Route => {
    const [, method = '', path = ''] = /^(\w+)\(\s*['"`]([^'"`]+)/.exec(code) ?? []
    return { name: `${method.toUpperCase()} ${path}`, code }
  })
  .filter(({ code }) => /\.\.\.common\b|\bsecurity:/.test(code))

const namesOf = (chosen: readonly Route[]) => chosen.map(({ name }) => name).toSorted()
const without = (methods: RegExp, wrapper: RegExp) =>
  namesOf(routes.filter(({ name, code }) => methods.test(name) && !wrapper.test(code)))

test('every POST with a credential is idempotent(…), except those that say why not', () => {
  expect(without(/^POST /, /\bidempotent(Upload|After)?\(/)).toEqual([
    'POST /auth/logout',
    'POST /auth/resend-verification',
    'POST /mcp',
  ])
})

test('every PATCH, PUT and DELETE is ifMatch(…), except of records without an ETag', () => {
  expect(without(/^(PATCH|PUT|DELETE) /, /\bifMatch(After)?\(/)).toEqual(['DELETE /sessions/:id'])
  expect(routes.length).toBeGreaterThan(80)
})

test('a description of more than 300 characters is a constant beside its route', () => {
  const literal = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/.source
  const description = new RegExp(`\\bdescription:\\s*((?:${literal})(?:\\s*\\+\\s*(?:${literal}))*)`, 'g')
  const found = sourceFiles
    .filter(({ path, isTest }) => /^apps\/api\/src\/(routes|pages|mcp)\//.test(path) && !isTest)
    .flatMap(({ code }) => [...code.matchAll(description)].map(([, text = '']) => text))
  expect(found.length).toBeGreaterThan(100)
  expect(found.filter((text) => text.replaceAll(/['"`]\s*\+\s*['"`]/g, '').length > 302)).toEqual([])
})

test('no hook replaces the handler of a route', () => {
  const code = sourceFiles.filter(({ path }) => path.startsWith('apps/api/src/')).map(({ code }) => code)
  expect(code.filter((text) => /\broute\.handler\s*=[^=]/.test(text))).toEqual([])
})
