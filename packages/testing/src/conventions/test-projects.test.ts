/**
 * The name of a test file says what it needs: `x.test.ts` no service, `x.int.test.ts` one database, and
 * `x.slow.test.ts` the rest. `pnpm test:fast` runs the first two.
 */
import { expect, test } from 'vitest'
import {
  importsOf,
  isTestHelper,
  resolveImport,
  type SourceFile,
  sourceFiles,
  withoutTypeImports,
} from './source-files.ts'

const testing = 'packages/testing/src/'

/** These modules connect to PostgreSQL or Redis. */
const services = [`${testing}postgres/database.ts`, `${testing}redis/redis.ts`]

/** These modules start or stop programs, or are for statistics. */
const slowModules = [
  'node:child_process',
  `${testing}processes/processes.ts`,
  `${testing}processes/debian-package.ts`,
  `${testing}processes/monitoring-programs.ts`,
  `${testing}redis/unreliable-redis.ts`,
  `${testing}redis/redis-cluster.ts`,
  `${testing}postgres/backup-server.ts`,
  `${testing}postgres/pgbouncer.ts`,
  `${testing}network/reverse-proxy.ts`,
  `${testing}browser/browser.ts`,
  `${testing}mann-whitney.ts`,
  'packages/embedded-postgres/src/embedded-postgres.ts',
]

/** Slow tests that need no such module, with the reason. */
const slowByThemselves: Record<string, string> = {
  'packages/sdk/test/package.slow.test.ts': 'builds the SDK',
  'apps/worker/src/jobs/random-faults.slow.test.ts': 'random faults',
}

/** Tests that run one checker to its end, and that of a module itself. */
const exceptions = [
  `${testing}conventions/pm2.test.ts`,
  `${testing}conventions/static-checks.test.ts`,
  `${testing}conventions/systemd.test.ts`,
  `${testing}deployment/compose.test.ts`,
  `${testing}mann-whitney.test.ts`,
  `${testing}migrations/remake-migration.int.test.ts`,
  'packages/core/src/runtime/node-flags.test.ts',
]

const files = new Map(sourceFiles.map((file) => [file.path, file]))
const tests = sourceFiles.filter(({ path, isTest }) => isTest && !path.startsWith('examples/'))

/** Returns the modules that a test file imports, directly or through helpers of tests. */
function findNeeds(file: SourceFile): Set<string> {
  const needs = new Set<string>()
  const helpers = new Set([file])
  for (const { path, code } of helpers) {
    for (const name of importsOf({ code: withoutTypeImports(code) })) {
      const imported = resolveImport(path, name) ?? name
      needs.add(imported)
      const helper = files.get(imported)
      // What a service starts for all tests does not count for a test that uses it.
      if (helper && isTestHelper(imported) && !services.includes(imported)) helpers.add(helper)
    }
  }
  return needs
}

/** Returns the project that a file needs. */
function projectOf(file: SourceFile): 'test' | 'int.test' | 'slow.test' {
  const needs = findNeeds(file)
  const isSlow = file.path in slowByThemselves || slowModules.some((name) => needs.has(name))
  if (isSlow && !exceptions.includes(file.path)) return 'slow.test'
  return services.some((path) => needs.has(path)) ? 'int.test' : 'test'
}

test('the name of every test file is that of the project that its imports need', () => {
  const nameOf = (path: string) => /(?<=\.)((int|slow)\.)?test(?=\.ts$)/.exec(path)?.[0]
  const misplaced = tests.filter((file) => nameOf(file.path) !== projectOf(file))
  expect(misplaced.map((file) => `${file.path} must be *.${projectOf(file)}.ts`)).toEqual([])
})

test('only slow tests have a timeout of their own', () => {
  const others = tests.filter(({ path }) => !path.endsWith('.slow.test.ts') && !path.includes('/conventions/'))
  const withTimeout = others.filter(({ code }) => /^test.*\{ timeout\b|^ {2}\{ timeout\b|^\}, [\d_]{5,}\)/m.test(code))
  expect(withTimeout.map(({ path }) => path)).toEqual([])
})
