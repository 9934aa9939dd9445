/** Runs the examples of docs/command-line.md as printed, in one terminal. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { startCommand } from '@rapport/testing/processes/processes.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { readExamples } from './printed-examples.ts'
import { startStack } from './stack.ts'

const root = resolve(import.meta.dirname, '../../..')

/**
 * What a test cannot run: a placeholder for an id, a command without end, and a request to a public DNS server, also by
 * `--as`. Backups need the `pg_dump` of the server and have tests of their own.
 */
const skipped = /…|rapport (listen|backup|restore) |demo|--dns-server|--as /

// Every example starts a process, which takes a second and more on a loaded machine. At the gate, documentation.test.ts of
// the CLI parses the examples, json-output.int.test.ts runs each command, and command-line.slow.test.ts the main ones.
test.runIf(isFullRun)('the examples of the CLI reference work as printed', { timeout: 300_000 }, async () => {
  const stack = await startStack('postgres')
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'rapport-reference-')))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const variables = Object.entries({ ...stack.env, DATA_DIR: folder })
  writeFileSync(join(folder, '.env'), variables.map(([name, value]) => `${name}='${value}'\n`).join(''))
  // The account of "rapport user reset".
  const account = { email: 'ada@example.com', password: 'a long and secret sentence' }
  await stack.api.call('POST', '/auth/signup', { body: account })

  const [link = '', ...examples] = readExamples(readFileSync(join(root, 'docs/command-line.md'), 'utf8'))
    .replaceAll('http://localhost:3000', stack.api.url)
    .split('\n')
    .filter((line) => !skipped.test(line))
  const script = [`cd '${root}'`, link.replace('/usr/local/bin/', `${bin}/`), `cd '${folder}'`, ...examples]
  const terminal = await startCommand({
    command: 'bash',
    parameters: ['-c', script.join('\n')],
    env: { PATH: `${bin}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`, HOME: folder },
  })
  await terminal.exited
  const [printed, errors] = [terminal.stdout(), terminal.stderr()]
  await stack.close()
  rmSync(folder, { recursive: true })

  // Problems of a command begin with its name, problems of the shell with "bash".
  expect(errors).not.toMatch(/^(rapport|bash):/m)
  expect(printed).toMatch(/^\d+ ok, \d+ warn, \d+ fail$/m)
  expect(printed).toMatch(/^queue +waiting +published/m)
  expect(printed).toContain('\nnull\n')
  expect(printed).toContain('No campaign is SENDING or PAUSED.\nNo webhook has failed for an hour.\n')
  expect(printed).toMatch(/^id +created +suspended +contacts .* name$/m)
  expect(printed).toMatch(/^inv_\w+\nengines.example\nlooms.example$/m)
  expect(errors).toMatch(/^"Address book" has the role ADMIN and expires /m)
  expect(errors).toContain('The email to ada@example.com is queued. 1 session ended.')
  expect(errors).toContain('\nline 3: email: must be an email address such as ada@example.com\n')
  expect(printed).toMatch(/^imp_\w+ is complete: 2 processed, 1 created, 0 updated, 0 skipped, 1 failed$/m)
  expect(printed).toMatch(/^imp_\w+ is complete: 2 processed, 0 created, 0 updated, 1 skipped, 1 failed$/m)
})
