import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { projectDirectory } from './local-instance.ts'
import { nodeFlags } from './node-flags.ts'

/** Every file with a command line that starts the API or the worker, and the number of its commands. */
const starters = {
  'ops/systemd/rapport-api@.service': 1,
  'ops/systemd/rapport-worker@.service': 1,
}
const flags = nodeFlags.join(' ')

test.each(Object.entries(starters))('%s starts the API and the worker with the flags', async (file, count) => {
  // Joins a command that is written as a list of strings.
  const text = (await readFile(join(projectDirectory, file), 'utf8')).replaceAll(/["']?, ["']?/g, ' ')
  const commands = text.match(/node\b[^\n]* apps\/(api|worker)\/src\/main\.ts/g) ?? []
  expect(commands).toHaveLength(count)
  for (const command of commands) expect(command).toContain(`node ${flags} apps/`)
})

test('bin/rapport starts the API and the worker with the flags', async () => {
  const script = await readFile(join(projectDirectory, 'bin/rapport'), 'utf8')
  expect(script).toContain(`exec "$node" ${flags} "$root/apps/$1/src/main.ts"`)
})

test('pm2 starts the API and the worker with the flags', async () => {
  const { default: config } = (await import(join(projectDirectory, 'ops/pm2/ecosystem.config.cjs'))) as {
    default: { apps: { script: string; interpreter_args: string }[] }
  }
  for (const app of config.apps) expect(app.interpreter_args).toBe(flags)
})

test('Node accepts the flags', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeFlags, '--print', 'process.execArgv.length'])
  expect(Number(stdout)).toBeGreaterThanOrEqual(nodeFlags.length)
})
