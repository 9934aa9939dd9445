import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { projectDirectory } from './local-instance.ts'
import { compileCache, nodeFlags } from './node-flags.ts'

const flags = nodeFlags.join(' ')

test.each(['api', 'worker'])('the systemd unit of the %s starts it with bin/rapport', async (program) => {
  const unit = await readFile(join(projectDirectory, `ops/systemd/rapport-${program}@.service`), 'utf8')
  expect(unit).toMatch(new RegExp(`^ExecStart=\\S.* /opt/rapport/bin/rapport ${program}'?$`, 'm'))
})

test('bin/rapport starts the API and the worker with the flags', async () => {
  const script = await readFile(join(projectDirectory, 'bin/rapport'), 'utf8')
  expect(script).toContain(`exec "$node" ${flags} "$root/apps/$1/src/main.ts"`)
})

test('bin/rapport keeps compiled modules for the next start', async () => {
  const script = await readFile(join(projectDirectory, 'bin/rapport'), 'utf8')
  expect(script).toContain('export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-$root/node_modules/.cache/node}"')
  expect(compileCache).toBe(join(projectDirectory, 'node_modules/.cache/node'))
})

test('pm2 starts the API and the worker with the flags and the cache', async () => {
  const { default: config } = (await import(join(projectDirectory, 'ops/pm2/ecosystem.config.cjs'))) as {
    default: { apps: { script: string; interpreter_args: string; env: Record<string, string> }[] }
  }
  for (const app of config.apps) {
    expect(app.interpreter_args).toBe(flags)
    expect(app.env).toHaveProperty('NODE_COMPILE_CACHE')
  }
})

test('Node accepts the flags', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeFlags, '--print', 'process.execArgv.length'])
  expect(Number(stdout)).toBeGreaterThanOrEqual(nodeFlags.length)
})
