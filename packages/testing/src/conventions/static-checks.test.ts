/** The checks of `pnpm check`, so that `pnpm test` covers them too. */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'vitest'

const root = resolve(import.meta.dirname, '../../../..')

const timeout = 120_000

test('the source code type-checks', { timeout }, () => expectNoFindings('tsc', '--noEmit', '--pretty', 'false'))
test('the Next.js example type-checks', { timeout }, () =>
  expectNoFindings('tsc', '--noEmit', '--pretty', 'false', '-p', 'examples/nextjs-newsletter'),
)
test('the source code passes the linter', { timeout }, () =>
  expectNoFindings('oxlint', '--type-aware', '--format', 'unix'),
)
test('the source code is formatted', { timeout }, () =>
  expectNoFindings('biome', 'format', '--colors=off', '--reporter=summary'),
)

/** Fails with the output of the program. */
function expectNoFindings(program: string, ...parameters: string[]): Promise<void> {
  const options = { cwd: root, maxBuffer: 50_000_000 }
  return new Promise((resolveCheck, reject) => {
    execFile(resolve(root, 'node_modules/.bin', program), parameters, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program} found:\n${stdout}${stderr}${stdout || stderr ? '' : error.message}`))
      else resolveCheck()
    })
  })
}
