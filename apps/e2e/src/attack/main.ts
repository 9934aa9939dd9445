/**
 * The program behind `pnpm attack [--seed N] [--seconds N] [--backend redis|postgres] [--only …]`: starts an installation and
 * attacks its consent, as the test beside it does, for longer. `--only availability` measures what a workspace notices of
 * others that misuse the installation. See CONTRIBUTING.md.
 */
import { randomInt } from 'node:crypto'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createVitest } from 'vitest/node'
import type { QueueBackend } from '../stack.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(1, 1_000_000)) },
    seconds: { type: 'string', default: '60' },
    backend: { type: 'string', default: 'redis' },
    /** What is attacked: `consent`, or `availability`, which takes a minute and no options. */
    only: { type: 'string', default: 'consent' },
  },
})
const { seed, seconds, backend, only } = values
if (
  !/^\d+$/.test(seed) ||
  !/^\d+$/.test(seconds) ||
  !/^(redis|postgres)$/.test(backend) ||
  !/^(consent|availability)$/.test(only)
) {
  console.error('Usage: pnpm attack [--seed N] [--seconds N] [--backend redis|postgres] [--only consent|availability]')
  process.exit(64)
}
const root = resolve(import.meta.dirname, '../../../..')
const vitest = await createVitest({
  root,
  config: resolve(root, 'vitest.workspace.ts'),
  project: ['slow'],
  run: true,
  watch: false,
  disableConsoleIntercept: true,
})
vitest.provide('attack', { seed: Number(seed), seconds: Number(seconds), backend: backend as QueueBackend })
await vitest.start([`apps/e2e/src/attack/${only === 'consent' ? 'attack' : 'availability'}.slow.test.ts`])
await vitest.close()
