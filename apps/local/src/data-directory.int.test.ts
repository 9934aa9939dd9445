import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

test('only the owner can read the file with the secrets', async () => {
  const path = await makePath()
  const directory = await openDataDirectory(path)
  directory.release()
  expect((await stat(join(path, 'local.json'))).mode & 0o777).toBe(0o600)
})

test('local.env has the variables of a running installation, for its owner only', async () => {
  const path = await makePath()
  const directory = await openDataDirectory(path)
  const file = join(path, 'local.env')
  await directory.save({ running: { apiUrl: 'http://127.0.0.1:3000', apiKey: 'rpk_abc', environment: {} } })
  expect(await readFile(file, 'utf8')).toBe(
    'export RAPPORT_API_URL=http://127.0.0.1:3000\nexport RAPPORT_API_KEY=rpk_abc\nexport RAPPORT_INBOX_URL=\n',
  )
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

async function makePath(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'rapport-local-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}
