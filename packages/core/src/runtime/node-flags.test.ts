import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { projectDirectory } from './local-instance.ts'
import { nodeFlags } from './node-flags.ts'

const flags = nodeFlags.join(' ')

test.each(['api', 'worker'])('the systemd unit of the %s starts it with bin/rapport', async (program) => {
  const unit = await readFile(join(projectDirectory, `ops/systemd/rapport-${program}@.service`), 'utf8')
  expect(unit).toContain(`\nExecStart=/opt/rapport/bin/rapport ${program}\n`)
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
