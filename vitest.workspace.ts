import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

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
      {
        test: {
          ...everywhere,
          globalSetup: [needsServices.globalSetup, `${testing}/browser/browser-setup.ts`],
          name: 'e2e',
          include: ['apps/e2e/**/*.test.ts'],
          exclude: [nodeModules],
          // Runs after the other projects, with two files at a time, as each file starts several processes.
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
