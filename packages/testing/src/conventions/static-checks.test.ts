/** The checks of `pnpm check`, so that `pnpm test` covers them too. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { test } from 'vitest'
import { changedFilesVariable } from '../changed-tests.ts'
import { goEnvironment } from '../processes/go-environment.ts'

const root = resolve(import.meta.dirname, '../../../..')

const timeout = 300_000

/** With `pnpm test:changed`, the linter reads only what changed. The compiler finds what else a change breaks. */
const changed = inheritedEnvironment()[changedFilesVariable]?.split(delimiter)
const changedCode = changed?.filter((path) => /\.tsx?$/.test(path) && existsSync(resolve(root, path)))
const nextjsExample = 'examples/nextjs-newsletter'
const isExampleConcerned = changed?.some((path) => /^(examples|packages\/sdk)\//.test(path)) ?? true

// In a whole run the linter reports the errors of the compiler too, which reads the code once instead of twice.
test.skipIf(changed === undefined)('the source code type-checks', { timeout }, () =>
  expectNoFindings('tsc', '--noEmit', '--pretty', 'false'),
)
test.skipIf(!isExampleConcerned)('the Next.js example type-checks', { timeout }, () =>
  expectNoFindings('tsc', '--noEmit', '--pretty', 'false', '-p', nextjsExample),
)
test.skipIf(changedCode?.length === 0)('the source code type-checks and passes the linter', { timeout }, () =>
  expectNoFindings('oxlint', '--type-aware', '--type-check', '--format', 'unix', ...(changedCode ?? [])),
)
test('the source code is formatted', { timeout }, () =>
  expectNoFindings('biome', 'format', '--colors=off', '--reporter=summary'),
)

/** Fails with the output of the program. */
function expectNoFindings(program: string, ...parameters: string[]): Promise<void> {
  const options = { cwd: root, env: goEnvironment(), maxBuffer: 50_000_000 }
  return new Promise((resolveCheck, reject) => {
    execFile(resolve(root, 'node_modules/.bin', program), parameters, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program} found:\n${stdout}${stderr}${stdout || stderr ? '' : error.message}`))
      else resolveCheck()
    })
  })
}
