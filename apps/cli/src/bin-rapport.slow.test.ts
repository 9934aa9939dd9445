/** Runs `bin/rapport` as a process, in the places where operators have it. */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { projectDirectory } from '@rapport/core/runtime/local-instance.ts'
import { version } from '@rapport/core/runtime/version.ts'
import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startCommand } from '@rapport/testing/processes/processes.ts'
import { expect, test } from 'vitest'
import { missingDirectory, unreachableEnvironment } from './testing.ts'

const database = useTestDatabase()
const folder = useForFile(() => {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'rapport bin-')))
  return { path, close: () => rmSync(path, { recursive: true }) }
})
const program = join(projectDirectory, 'bin/rapport')
const systemPath = '/usr/local/bin:/usr/bin:/bin'

interface Call {
  command?: string
  env?: Record<string, string>
  path?: string
}

async function run(parameters: string[], { command = program, env = {}, path = systemPath }: Call = {}) {
  // From another folder, as an operator would.
  const started = await startCommand({
    command: 'sh',
    parameters: ['-c', 'cd / && exec "$0" "$@"', command, ...parameters],
    env: { PATH: path, DATA_DIR: missingDirectory, ...env },
  })
  const { code } = await started.exited
  return { code, stdout: started.stdout(), stderr: started.stderr() }
}

test('a result that is larger than a pipe reaches a slow reader whole', async () => {
  await database.pool.query(`
    insert into workspaces (id, name) select uuidv7(), 'Client ' || number from generate_series(1, 500) number`)
  const list = await startCommand({
    command: 'sh',
    parameters: ['-c', '"$0" workspace list --json | (sleep 1; cat)', program],
    env: { PATH: systemPath, ...unreachableEnvironment, DATABASE_URL: database.url },
  })
  await list.exited
  const { data } = JSON.parse(list.stdout()) as { data: { name: string }[] }
  expect(data.filter(({ name }) => name.startsWith('Client '))).toHaveLength(500)
})

/** Writes an executable shell script. */
function writeScript(path: string, ...lines: string[]): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, ['#!/bin/sh', ...lines, ''].join('\n'))
  chmodSync(path, 0o755)
  return path
}

/** An installation of the same files in another folder. `node_modules` has no Node.js, as in the image. */
function installIn(name: string): string {
  const home = join(folder.path, name)
  mkdirSync(join(home, 'bin'), { recursive: true })
  copyFileSync(program, join(home, 'bin/rapport'))
  for (const part of ['apps', 'packages', 'package.json']) symlinkSync(join(projectDirectory, part), join(home, part))
  return join(home, 'bin/rapport')
}

const versionLine = { code: 0, stdout: `rapport ${version}\n`, stderr: '' }

test('runs from any folder, through a symlink, with an old Node.js on the PATH', async () => {
  const link = join(folder.path, 'usr/local/bin/rapport')
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(program, join(folder.path, 'real'))
  symlinkSync('../../../real', link)
  writeScript(join(folder.path, 'old/node'), 'echo v18.20.0')
  const path = `${join(folder.path, 'old')}:${systemPath}`
  expect(await run(['--version'], { command: link, path })).toEqual(versionLine)
  // Found on the PATH.
  expect(await run(['-v'], { command: 'rapport', path: `${dirname(link)}:${path}` })).toEqual(versionLine)
})

test('runs in a path with spaces, with the Node.js of the PATH if it is new enough', async () => {
  const command = installIn('a folder with spaces')
  expect(await run(['--version'], { command })).toMatchObject({
    code: 78,
    stderr: expect.stringContaining(`run "npx --yes pnpm install" in ${join(folder.path, 'a folder with spaces')}\n`),
  })
  mkdirSync(join(folder.path, 'a folder with spaces/node_modules'))
  expect(await run(['--version'], { command, path: `${dirname(process.execPath)}:${systemPath}` })).toEqual(versionLine)

  for (const [old, problem] of [
    ['v22.18.9', 'Node.js v22.18.9 is too old: 22.19 or newer is needed'],
    ['v20.20.2', 'Node.js v20.20.2 is too old: 22.19 or newer is needed'],
  ] as const) {
    writeScript(join(folder.path, old, 'node'), `echo ${old}`)
    const path = `${join(folder.path, old)}:${systemPath}`
    expect(await run(['--version'], { command, path })).toEqual({
      code: 78,
      stdout: '',
      stderr: `rapport: ${problem}\n`,
    })
  }
  // A PATH with the tools of the script, and without Node.js.
  const tools = join(folder.path, 'tools')
  mkdirSync(tools)
  for (const tool of ['sh', 'dirname', 'readlink']) symlinkSync(join('/usr/bin', tool), join(tools, tool))
  expect(await run(['--version'], { command, path: tools })).toMatchObject({
    code: 78,
    stderr: 'rapport: Node.js is missing: install version 22.19 or newer\n',
  })
})

test('prints the version and the list of commands without loading core', async () => {
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (/^(drizzle-orm|pg|bullmq|undici|@rapport.sdk)/.test(name)) throw new Error(name + ' is loaded')
      return next(name, context)
    } })`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
  expect(await run(['--version'], { env })).toEqual(versionLine)
  for (const list of [['--help'], ['workspace', '--help']])
    expect(await run(list, { env })).toMatchObject({ code: 0, stderr: '' })
  expect((await run(['queue', '--help'], { env })).stderr).toContain(' is loaded')
})

test('passes arguments on unchanged, and the exit code back', async () => {
  const key = ['key', 'create', '--name', 'A "b"  $c', '--workspace', 'wsp_01kag7m3v9e8fs2t4w6x8y0z1b']
  expect(await run([...key, '--role', 'x y'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--role: must'),
  })
  // The errors of programs: standard output stays empty.
  const { stderr, ...rest } = await run([...key, '--json'])
  expect(rest).toEqual({ code: 78, stdout: '' })
  expect(JSON.parse(stderr)).toEqual({
    error: { code: 'invalid_environment', message: expect.stringContaining('DATABASE_URL') },
  })
  expect(await run([])).toMatchObject({ code: 2, stderr: expect.stringContaining('A command is required.') })
})

test('prints the help of a program', async () => {
  expect(await run(['api', '--help'])).toEqual({
    code: 0,
    stdout: expect.stringContaining('Usage: rapport api [options]\n'),
    stderr: '',
  })
})

test.each(['api', 'worker', 'migrate'])('%s rejects unknown arguments, and starts without any', async (name) => {
  expect(await run([name, 'now'])).toMatchObject({
    code: 2,
    stderr: `rapport: Unexpected argument "now". See "rapport ${name} --help".\n`,
  })
  expect(await run([name])).toMatchObject({ code: 78, stderr: expect.stringContaining('DATABASE_URL') })
})

test('migrate updates the database', async () => {
  const empty = await createEmptyDatabase()
  const migrated = { code: 0, stdout: 'The database is up to date.\n', stderr: '' }
  expect(await run(['migrate'], { env: { DATABASE_URL: empty.url } })).toEqual(migrated)
  expect(await run(['migrate'], { env: { DATABASE_URL: empty.url } })).toEqual(migrated)
  await empty.close()
})

test('SIGTERM reaches the API and the worker, which shut down with code 0', async () => {
  const env = { ...unreachableEnvironment, PATH: systemPath, DATABASE_URL: database.url, PORT: '0' }
  for (const readiness of [
    { parameters: ['api'], readyPattern: /Server listening/ },
    { parameters: ['worker'], readyPattern: /worker ready/ },
    // While it starts.
    { parameters: ['worker'], readyPattern: /"starting"/ },
  ]) {
    const started = await startCommand({ command: program, env, ...readiness })
    // The signal goes to the process that was started: the shell has been replaced by Node.js.
    started.kill('SIGTERM')
    expect(await started.exited).toEqual({ code: 0, signal: null })
  }
})
