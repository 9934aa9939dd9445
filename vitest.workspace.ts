import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// Vitest itself, and the programs that tests start, fail on an older Node with errors that do not name the cause.
if (!process.features.typescript) {
  throw new Error(
    `The tests need Node 22.19 or newer; this is ${process.version}. After "npx --yes pnpm install", node_modules/.bin/node ` +
      'is one, and "npx vitest" uses it; for VS Code, set "vitest.nodeExecutable" to its path.',
  )
}

const testing = './packages/testing/src'
const needsServices = { globalSetup: `${testing}/global-setup.ts` }
// A worker loads the modules once for all its files, which halves the processor time of most files.
const everywhere = { isolate: false, setupFiles: `${testing}/setup-file.ts` }
const notOurs = '**/node_modules/**'

export default defineConfig({
  test: {
    // One worker would leave half of a small machine idle; more than two overload it, and tests with a time limit fail.
    maxWorkers: Math.max(2, availableParallelism()),
    projects: [
      {
        test: {
          ...everywhere,
          name: 'unit',
          include: ['{packages,apps}/*/{src,test}/**/*.test.ts'],
          exclude: ['**/*.int.test.ts', 'apps/e2e/**', notOurs],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          ...everywhere,
          ...needsServices,
          name: 'integration',
          include: ['{packages,apps}/*/{src,test}/**/*.int.test.ts'],
          exclude: ['apps/e2e/**', notOurs],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...everywhere,
          globalSetup: [needsServices.globalSetup, `${testing}/browser/browser-setup.ts`],
          name: 'e2e',
          include: ['apps/e2e/**/*.test.ts'],
          exclude: [notOurs],
          // After all others, and two files at a time: each starts processes of its own.
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
