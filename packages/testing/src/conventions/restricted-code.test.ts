/** Rules of the house that the text of the sources shows. */
import { expect, test } from 'vitest'
import { core, coreSources, findCode, findImports, sourceFiles } from './source-files.ts'

const routes = sourceFiles.filter(({ path, isTest }) => path.startsWith('apps/api/src/routes/') && !isTest)

test('fastify lives in the api only, and where the api is measured against it', () => {
  const isFastify = (name: string) => /(^|\/)@?fastify/.test(name)
  expect(
    findImports(sourceFiles, ({ home }, name) => isFastify(name) && !['apps/api', 'apps/bench'].includes(home)),
  ).toEqual([])
})

test('bullmq lives in the worker, and in the api for the dashboard', () => {
  const mayQueue = (path: string) => path.startsWith('apps/worker/') || path === 'apps/api/src/http/dashboard.ts'
  expect(findImports(sourceFiles, ({ path }, name) => /^bullmq(\/|$)/.test(name) && !mayQueue(path))).toEqual([])
})

test('the environment is read in the configuration only', () => {
  const others = sourceFiles.filter(
    ({ path }) => path !== `${core}runtime/config.ts` && !path.startsWith('packages/testing/'),
  )
  expect(findCode(others, /process\.env\b|\benv\b.*from 'node:process'/)).toEqual([])
})

test('only main programs exit and listen to signals', () => {
  const others = sourceFiles.filter(
    ({ path }) => !path.endsWith('/main.ts') && path !== 'packages/testing/src/run-tests.ts',
  )
  expect(findCode(others, /process\.(exit|abort)\(|process\.\w+\(\s*['"`]SIG/)).toEqual([])
})

test('transactions are opened by transaction.ts, never by Drizzle', () => {
  expect(findCode(sourceFiles, /\.transaction\(/)).toEqual([])
})

test('core knows no HTTP', () => {
  expect(findCode(coreSources, /\bstatusCode\b|\.(status|code)\(\s*\d{3}\s*\)|\bstatus: [1-5]\d\d\b/)).toEqual([])
  expect(findImports(coreSources, (_file, name) => /^(node:)?https?$|^undici$/.test(name))).toEqual([])
})

test('a route knows no SQL', () => {
  const isDatabase = (name: string) => /^(drizzle-orm|pg)(\/|$)|^@rapport\/core\/db\/schema\//.test(name)
  expect(findImports(routes, (_file, name) => isDatabase(name))).toEqual([])
  expect(findCode(routes, /\bctx\.db\b/)).toEqual([])
})

test('a command knows no SQL, and reaches the API over HTTP only', () => {
  const cli = sourceFiles.filter(({ path, isTest }) => path.startsWith('apps/cli/') && !isTest)
  expect(findImports(cli, (_file, name) => /^(drizzle-orm|pg)(\/|$)|^@rapport\/core\/db\/schema\//.test(name))).toEqual(
    [],
  )
  expect(findCode(cli, /\.(query|execute|select|insert|update|delete)\(/)).toEqual([])
})

test('only a main program writes to a terminal; a command speaks through the one it is given', () => {
  const others = sourceFiles.filter(
    ({ path, isTest }) => /^apps\/(cli|api|worker)\//.test(path) && !isTest && !path.endsWith('/main.ts'),
  )
  expect(findCode(others, /process\.(stdout|stderr|stdin|argv)\b/)).toEqual([])
})

/** Modules that a library documents although its main module does not export them. */
const documentedInnerModules = ['nodemailer/lib/smtp-connection', 'nodemailer/lib/mail-composer']

test('libraries are used by their documented interfaces, and patched in files named -patch.ts only', () => {
  const isInner = (name: string) => /^(@[\w-]+\/)?[\w-]+\/(lib|dist|src|internal)\//.test(name)
  expect(findImports(sourceFiles, (_file, name) => isInner(name) && !documentedInnerModules.includes(name))).toEqual([])

  const others = sourceFiles.filter(({ path, isTest }) => !isTest && !path.endsWith('-patch.ts'))
  expect(findCode(others, /\bprototype\b|\bReflect\.(set|defineProperty)\(|\.setPrototypeOf\(|\._\./)).toEqual([])
})
