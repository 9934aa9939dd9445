import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { openDataDirectory } from './data-directory.ts'

test('a second launcher fails while the first one is running', async () => {
  const path = await makePath()
  const first = await openDataDirectory(path)
  await expect(openDataDirectory(path)).rejects.toThrow(`Rapport is already running with the data in ${path}`)
  first.release()
  const second = await openDataDirectory(path)
  second.release()
})

test('keeps secrets and API keys for the next start', async () => {
  const path = await makePath()
  const first = await openDataDirectory(path)
  await first.save({ apiKeys: { embedded: 'rpk_abc' } })
  first.release()
  const second = await openDataDirectory(path)
  expect(second.state).toEqual(first.state)
  expect(second.state.apiKeys).toEqual({ embedded: 'rpk_abc' })
  expect(Buffer.from(second.state.secretKey, 'base64')).toHaveLength(32)
  second.release()
})

test('only the owner has access to the folder and its files', async () => {
  const path = join(await makePath(), 'new')
  const directory = await openDataDirectory(path)
  directory.release()
  expect(await modesIn(path)).toEqual({ '.': '700', 'local.json': '600', lock: '600' })
})

test('removes the access of other users that an earlier start left', async () => {
  const path = await makePath()
  for (const name of ['local.json', 'local.json.new', 'lock']) await writeFile(join(path, name), '')
  await writeFile(join(path, 'local.json'), '{}')
  for (const name of ['local.json', 'local.json.new', 'lock']) await chmod(join(path, name), 0o644)
  await chmod(path, 0o755)
  const directory = await openDataDirectory(path)
  directory.release()
  expect(await modesIn(path)).toEqual({ '.': '700', 'local.json': '600', lock: '600' })
})

test('refuses a folder that all users share, such as /tmp, and leaves its mode', async () => {
  const path = await makePath()
  await chmod(path, 0o1777)
  await expect(openDataDirectory(path)).rejects.toThrow(`DATA_DIR: ${path} is a folder that all users share`)
  expect(await modesIn(path)).toEqual({ '.': '1777' })
})

test('local.env has the variables of a running installation, for its owner only', async () => {
  const path = await makePath()
  const directory = await openDataDirectory(path)
  const file = join(path, 'local.env')
  const addresses = { apiUrl: 'http://127.0.0.1:3000', inboxUrl: 'http://localhost:1080' }
  const running = { ...addresses, apiKey: 'rpk_abc', inboxAuthorization: 'Basic YWRtaW4=', environment: {} }
  await directory.save({ running })
  const text = await readFile(file, 'utf8')
  const variables = {
    RAPPORT_API_URL: 'http://127.0.0.1:3000',
    RAPPORT_API_KEY: 'rpk_abc',
    RAPPORT_INBOX_URL: 'http://localhost:1080',
    RAPPORT_INBOX_AUTHORIZATION: 'Basic YWRtaW4=',
  }
  expect(parseEnv(text)).toEqual(variables)
  const inShell = await promisify(execFile)('/bin/sh', ['-c', `. '${file}'; env`], { env: {} })
  expect(parseEnv(inShell.stdout)).toMatchObject(variables)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await directory.save({ running: undefined })
  await expect(stat(file)).rejects.toThrow('ENOENT')
  directory.release()
})

test('rejects a damaged file with secrets and does not overwrite it', async () => {
  const path = await makePath()
  const file = join(path, 'local.json')
  await writeFile(file, '{ "secretKey":')
  await expect(openDataDirectory(path)).rejects.toThrow('is not valid JSON')
  expect(await readFile(file, 'utf8')).toBe('{ "secretKey":')
})

async function modesIn(path: string): Promise<Record<string, string>> {
  const names = ['.', ...(await readdir(path))]
  const modes = names.map(async (name) => [name, ((await stat(join(path, name))).mode & 0o7777).toString(8)] as const)
  return Object.fromEntries(await Promise.all(modes))
}

async function makePath(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'rapport-local-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}
