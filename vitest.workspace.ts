import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { findPostgres15 } from './packages/testing/src/postgres/postgres-15.ts'

// On an older Node, Vitest and the programs that tests start fail with misleading errors.
if (!process.features.typescript) {
  throw new Error(
    `The tests need Node 22.19 or newer; this is ${process.version}. "npx --yes pnpm install" installs one as ` +
      'node_modules/.bin/node, which "npx vitest" uses. In VS Code, set "vitest.nodeExecutable" to this path.',
  )
}

const testing = './packages/testing/src'
const needsServices = { globalSetup: `${testing}/global-setup.ts` }
// Without isolation, a Vitest worker loads modules once for all its files, which halves the processor time of most
// files.
const everywhere = { isolate: false, setupFiles: `${testing}/setup-file.ts` }
const nodeModules = '**/node_modules/**'

// With DATABASE_URL, all tests use that server.
const hasPostgres15 = process.env['DATABASE_URL'] === undefined && (await findPostgres15()) !== undefined
/** PostgreSQL 15 is the oldest supported version. All SQL is in packages/core. */
const onPostgres15 = {
  test: {
    ...everywhere,
    globalSetup: `${testing}/global-setup-postgres-15.ts`,
    name: 'postgres-15',
    include: ['packages/core/src/**/*.int.test.ts'],
    exclude: [nodeModules],
    // After the other integration tests, as two servers compete for the processors.
    sequence: { groupOrder: 1 },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
}

/** With CITUS_DATABASE_URL, the coordinator of a cluster. */
const onCitus = {
  test: {
    ...onPostgres15.test,
    globalSetup: `${testing}/global-setup-citus.ts`,
    name: 'citus',
    include: ['{packages,apps}/*/{src,test}/**/*.int.test.ts'],
    // No previous release was distributed, and local starts and backups have a server of their own.
    exclude: [nodeModules, '**/upgrade.int.test.ts', 'apps/local/**', 'apps/cli/src/backup/**'],
    // More than elsewhere, as they wait for the servers. With four, two processors were too busy for tests of limits.
    maxWorkers: 3,
  },
}

const citusFaults = 'apps/e2e/src/citus-faults.test.ts'

const endToEnd = {
  test: {
    ...everywhere,
    globalSetup: [needsServices.globalSetup, `${testing}/browser/browser-setup.ts`],
    name: 'e2e',
    include: ['apps/e2e/**/*.test.ts'],
    exclude: [nodeModules, citusFaults],
    // Runs after the other projects, with two files at a time, as each file starts several processes.
    sequence: { groupOrder: 2 },
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
}

const endToEndOnCitus = {
  test: {
    ...endToEnd.test,
    globalSetup: [`${testing}/global-setup-citus.ts`, `${testing}/browser/browser-setup.ts`],
    name: 'e2e-citus',
  },
}

/** Stops servers of the cluster, so it runs alone. */
const faultsOnCitus = {
  test: {
    ...endToEndOnCitus.test,
    name: 'citus-faults',
    include: [citusFaults],
    exclude: [nodeModules],
    sequence: { groupOrder: 3 },
    testTimeout: 300_000,
  },
}

export default defineConfig({
  test: {
    // At least two, as one worker leaves a small machine half idle.
    maxWorkers: Math.max(2, availableParallelism()),
    projects: [
      {
        test: {
          ...everywhere,
          name: 'unit',
          include: ['{packages,apps}/*/{src,test}/**/*.test.ts'],
          exclude: ['**/*.int.test.ts', 'apps/e2e/**', nodeModules],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          ...everywhere,
          ...needsServices,
          name: 'integration',
          include: ['{packages,apps}/*/{src,test}/**/*.int.test.ts'],
          exclude: ['apps/e2e/**', nodeModules],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      ...(hasPostgres15 ? [onPostgres15] : []),
      ...(process.env['CITUS_DATABASE_URL'] ? [onCitus, endToEndOnCitus, faultsOnCitus] : []),
      endToEnd,
    ],
  },
})
