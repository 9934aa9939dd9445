import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { findPostgres15 } from './packages/testing/src/postgres/postgres-15.ts'
import { isFullRun } from './packages/testing/src/runs.ts'
import { TestOrder } from './packages/testing/src/test-order.ts'

// On an older Node, Vitest and the programs that tests start fail with misleading errors.
if (!process.features.typescript) {
  throw new Error(
    `The tests need Node 22.19 or newer; this is ${process.version}. "npx --yes pnpm install" installs one as ` +
      'node_modules/.bin/node, which "npx vitest" uses. In VS Code, set "vitest.nodeExecutable" to this path.',
  )
}

// With DATABASE_URL, all tests use that server.
const hasPostgres15 = process.env['DATABASE_URL'] === undefined && (await findPostgres15()) !== undefined

/** Where versions of PostgreSQL differ: DDL, plans, text search, locks. `every-event` executes nearly every change. */
const dependentOnVersion = [
  'db/{migrate,partitions,client,readiness,server-version,schema/*,statements/*}',
  'work/publish',
  'contacts/listing/{list-contacts,newest-contacts}',
  'segments/{compile-filter,filter-plans}',
  'campaigns/sending-statements',
  'imports/imports',
  'operations/webhooks/every-event',
  'webhooks/drain/{plans,find-backlogs,drain,take-deliveries}',
].map((name) => `packages/core/src/${name}.int.test.ts`)
/** Randomized tests do much more in a full run. */
const withinRun = (timeoutMs: number) => (isFullRun ? 20 * timeoutMs : timeoutMs)

const testing = './packages/testing/src'
const needsServices = { globalSetup: `${testing}/global-setup.ts` }
// Without isolation, a Vitest worker loads modules once for all its files, which halves the processor time of most
// files.
const everywhere = {
  isolate: false,
  // Semi-spaces of the young generation of up to 64 MB: their default takes 4 % more processor time.
  execArgv: ['--max-semi-space-size=64'],
  setupFiles: `${testing}/setup-file.ts`,
  // A busy machine may take longer than the default of a second.
  expect: { poll: { timeout: 20_000 } },
}
const nodeModules = '**/node_modules/**'
const folders = '{packages,apps}/*/{src,test}/**'
const citusFaults = 'apps/e2e/src/citus-faults.slow.test.ts'
/** Their scheduler asks one server which statements wait for a lock. */
const simulations = 'apps/worker/test/simulation/**'

/** Rules without a service. */
const unit = {
  test: {
    ...everywhere,
    name: 'unit',
    include: [`${folders}/*.test.ts`],
    exclude: ['**/*.int.test.ts', '**/*.slow.test.ts', nodeModules],
    testTimeout: withinRun(20_000),
  },
}

/** With one database. Nothing is killed, and no timeout is waited for. */
const integration = {
  test: {
    ...everywhere,
    ...needsServices,
    name: 'integration',
    include: [`${folders}/*.int.test.ts`],
    exclude: [nodeModules],
    testTimeout: withinRun(120_000),
    hookTimeout: 60_000,
  },
}

/** PostgreSQL 15 is the oldest supported version. All SQL is in packages/core. */
const onPostgres15 = {
  test: {
    ...integration.test,
    globalSetup: `${testing}/global-setup-postgres-15.ts`,
    name: 'postgres-15',
    include: isFullRun ? ['packages/core/src/**/*.int.test.ts'] : dependentOnVersion,
  },
}

/** Starts and kills processes, waits for timeouts, gathers statistics, or needs another server or a browser. */
const slow = {
  test: {
    ...everywhere,
    globalSetup: [needsServices.globalSetup, `${testing}/browser/browser-setup.ts`],
    name: 'slow',
    include: [`${folders}/*.slow.test.ts`],
    exclude: [nodeModules, citusFaults],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
}

/** With CITUS_DATABASE_URL, the coordinator of a cluster. */
const onCitus = {
  test: {
    ...onPostgres15.test,
    globalSetup: `${testing}/global-setup-citus.ts`,
    name: 'citus',
    include: integration.test.include,
    // Local starts have a server of their own.
    exclude: [nodeModules, '**/prepare-restored-database.int.test.ts', 'apps/local/**', simulations],
    sequence: { groupOrder: 1 },
    // More than elsewhere, as they wait for the servers. With four, two processors were too busy for tests of limits.
    maxWorkers: 3,
  },
}

const slowOnCitus = {
  test: {
    ...slow.test,
    globalSetup: [`${testing}/global-setup-citus.ts`, `${testing}/browser/browser-setup.ts`],
    name: 'slow-citus',
    // Backups and local starts have a server of their own.
    exclude: [nodeModules, citusFaults, 'apps/local/**', 'apps/cli/src/backup/**', simulations],
    sequence: { groupOrder: 2 },
    maxWorkers: 3,
    testTimeout: 300_000,
  },
}

/** Stops servers of the cluster, so it runs alone. */
const faultsOnCitus = {
  test: {
    ...slowOnCitus.test,
    name: 'citus-faults',
    include: [citusFaults],
    exclude: [nodeModules],
    sequence: { groupOrder: 3 },
  },
}

export default defineConfig({
  test: {
    // At least three, as the tests also wait: two leave a tenth of two processors idle. With four, the slow tests took
    // longer.
    maxWorkers: Math.max(3, availableParallelism()),
    sequence: { sequencer: TestOrder },
    projects: [
      unit,
      integration,
      ...(hasPostgres15 ? [onPostgres15] : []),
      ...(process.env['CITUS_DATABASE_URL'] ? [onCitus, slowOnCitus, faultsOnCitus] : []),
      slow,
    ],
  },
})
