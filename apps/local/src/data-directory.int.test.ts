import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDataDirectory } from './data-directory.ts'

test('a second launcher is told that the first still runs', async () => {
  const path = await makePath()
  const first = await openDataDirectory(path)
  await expect(openDataDirectory(path)).rejects.toThrow(`Rapport is running already with the data in ${path}`)
  first.release()
  const second = await openDataDirectory(path)
  second.release()
})

test('secrets and keys are the same at the next start', async () => {
  const path = await makePath()
  const first = await openDataDirectory(path)
  await first.remember({ apiKeys: { embedded: 'rpk_abc' } })
  first.release()
  const second = await openDataDirectory(path)
  expect(second.memory).toEqual(first.memory)
  expect(second.memory.apiKeys).toEqual({ embedded: 'rpk_abc' })
  expect(Buffer.from(second.memory.secretKey, 'base64')).toHaveLength(32)
  second.release()
})

test('only their owner may read the secrets', async () => {
  const path = await makePath()
  const directory = await openDataDirectory(path)
  directory.release()
  expect((await stat(join(path, 'local.json'))).mode & 0o777).toBe(0o600)
})

test('a damaged file of secrets is refused and left as it is', async () => {
  const path = await makePath()
  const file = join(path, 'local.json')
  await writeFile(file, '{ "secretKey":')
  await expect(openDataDirectory(path)).rejects.toThrow('not readable as JSON')
  expect(await readFile(file, 'utf8')).toBe('{ "secretKey":')
})

async function makePath(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'rapport-local-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}
