/** Imports and code that only certain files may contain. */
import { expect, test } from 'vitest'
import { core, coreSources, findCode, findImports, sourceFiles } from './source-files.ts'

const routes = sourceFiles.filter(({ path, isTest }) => path.startsWith('apps/api/src/routes/') && !isTest)

test('only the API, the benchmarks and an example import fastify', () => {
  const isFastify = (name: string) => /(^|\/)@?fastify/.test(name)
  const homes = ['apps/api', 'apps/bench', 'examples/webhook-receiver']
  expect(findImports(sourceFiles, ({ home }, name) => isFastify(name) && !homes.includes(home))).toEqual([])
})

test('only the worker and the queues of the API import bullmq', () => {
  const isAllowed = (path: string) => /^apps\/(worker|api\/src\/queues)\//.test(path)
  expect(findImports(sourceFiles, ({ path }, name) => /^bullmq(\/|$)/.test(name) && !isAllowed(path))).toEqual([])
})

test('only the configuration and the examples read environment variables', () => {
  const otherFiles = sourceFiles.filter(
    ({ path }) => path !== `${core}runtime/config.ts` && !/^(packages\/testing|examples)\//.test(path),
  )
  expect(findCode(otherFiles, /process\.env\b|\benv\b.*from 'node:process'/)).toEqual([])
})

/** The worker has two main programs, one of them for tests. */
const otherPrograms = ['apps/worker/src/process/run-worker.ts', 'packages/testing/src/run-tests.ts']

test('only main programs call process.exit and handle signals', () => {
  const otherFiles = sourceFiles.filter(({ path }) => !path.endsWith('/main.ts') && !otherPrograms.includes(path))
  expect(findCode(otherFiles, /process\.(exit|abort)\(|process\.\w+\(\s*['"`]SIG/)).toEqual([])
})

test("transactions use transaction.ts, not Drizzle's own method", () => {
  expect(findCode(sourceFiles, /\.transaction\(/)).toEqual([])
})

/** Named statements use it, so it cannot use them. */
const belowStatements = `${core}db/client.ts`

test('rows of statements have declared columns, not an asserted type', () => {
  const isApplication = (path: string) => /^packages\/core\/|^apps\/(api|worker|cli|local)\/src\//.test(path)
  const others = sourceFiles.filter(({ path, isTest }) => isApplication(path) && !isTest && path !== belowStatements)
  expect(findCode(others, /\.(execute|query)<|\.rows( as\b|\[)/)).toEqual([])
})

test('only db/distribution has code for Citus', () => {
  const others = coreSources.filter(({ path, isTest }) => !isTest && !path.startsWith(`${core}db/distribution/`))
  expect(findCode(others, /citus/i)).toEqual([])
})

test('core contains no HTTP status codes and imports no HTTP client or server', () => {
  expect(findCode(coreSources, /\bstatusCode\b|\.(status|code)\(\s*\d{3}\s*\)|\bstatus: [1-5]\d\d\b/)).toEqual([])
  expect(findImports(coreSources, (_file, name) => /^(node:)?https?$|^undici$/.test(name))).toEqual([])
})

test('routes contain no SQL', () => {
  const isDatabase = (name: string) => /^(drizzle-orm|pg)(\/|$)|^@rapport\/core\/db\/schema\//.test(name)
  expect(findImports(routes, (_file, name) => isDatabase(name))).toEqual([])
  expect(findCode(routes, /\bctx\.db\b/)).toEqual([])
})

test('CLI commands contain no SQL', () => {
  const cli = sourceFiles.filter(({ path, isTest }) => path.startsWith('apps/cli/') && !isTest)
  expect(findImports(cli, (_file, name) => /^(drizzle-orm|pg)(\/|$)|^@rapport\/core\/db\/schema\//.test(name))).toEqual(
    [],
  )
  // A checksum has an update method too, and the client of the API delete methods.
  expect(findCode(cli, /(?<!\b(?:hash|suppressions|webhooks))\.(query|execute|select|insert|update|delete)\(/)).toEqual(
    [],
  )
})

test('only main programs use process.stdout, stderr, stdin and argv', () => {
  const otherFiles = sourceFiles.filter(
    ({ path, isTest }) => /^apps\/(cli|api|worker)\//.test(path) && !isTest && !path.endsWith('/main.ts'),
  )
  expect(findCode(otherFiles, /process\.(stdout|stderr|stdin|argv)\b/)).toEqual([])
})

test('only toNormalForm normalizes Unicode, which takes quadratic time for many marks', () => {
  const isApplication = (path: string) => /^packages\/core\/|^apps\/(api|worker|cli|local)\/src\//.test(path)
  const others = sourceFiles.filter(
    ({ path, isTest }) => isApplication(path) && !isTest && path !== `${core}kernel/values/text.ts`,
  )
  expect(findCode(others, /\.normalize\(/)).toEqual([])
})

/** Inner modules that the documentation of their library names. */
const documentedInnerModules = ['nodemailer/lib/smtp-connection', 'nodemailer/lib/mail-composer']

test('no file imports undocumented modules, and only *-patch.ts files patch libraries', () => {
  const isInner = (name: string) => /^(@[\w-]+\/)?[\w-]+\/(lib|dist|src|internal)\//.test(name)
  expect(findImports(sourceFiles, (_file, name) => isInner(name) && !documentedInnerModules.includes(name))).toEqual([])

  const otherFiles = sourceFiles.filter(({ path, isTest }) => !isTest && !path.endsWith('-patch.ts'))
  expect(findCode(otherFiles, /\bprototype\b|\bReflect\.(set|defineProperty)\(|\.setPrototypeOf\(|\._\./)).toEqual([])
})
