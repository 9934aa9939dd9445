import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findClientPrograms } from './client-programs.ts'

const directory = mkdtempSync(join(tmpdir(), 'rapport-programs-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Writes a program that prints this version. Versions are above those that this machine may have. */
function install(folder: string, output: string): string {
  mkdirSync(join(directory, folder))
  writeFileSync(join(directory, folder, 'pg_dump'), `#!/bin/sh\necho "${output}"\n`, { mode: 0o755 })
  return join(directory, folder)
}
const path = [
  install('newest', 'pg_dump (PostgreSQL) 93beta1'),
  install('same', 'pg_dump (PostgreSQL) 91.4 (Debian 91.4-1)'),
  install('older', 'pg_dump (PostgreSQL) 90.18'),
  install('newer', 'pg_dump (PostgreSQL) 92.1'),
  install('broken', 'no version'),
  join(directory, 'missing'),
].join(':')
const find = (majorVersion: number) =>
  findClientPrograms('pg_dump', { majorVersion, version: `${majorVersion}.2` }, { PATH: path })

test('prefers the version of the server, then the closest newer one', async () => {
  const versions = async (major: number) => (await find(major)).map(({ version }) => version)
  expect(await versions(91)).toEqual(['91.4', '92.1', '93beta1'])
  expect(await versions(92)).toEqual(['92.1', '93beta1'])
  expect((await find(91))[0].path).toBe(join(directory, 'same/pg_dump'))
})

test('without a program, the error lists what was found, the folders and the packages', async () => {
  await expect(find(94)).rejects.toThrow(/^PostgreSQL 94\.2 needs pg_dump 94 or newer\.\nFound only /)
  await expect(find(94)).rejects.toThrow(`${join(directory, 'newest/pg_dump')} (93beta1)`)
  await expect(find(94)).rejects.toThrow(/\n {2}\/usr\/lib\/postgresql\/\*\/bin\n[^]*postgresql-client-94 \(Debian/)
})
