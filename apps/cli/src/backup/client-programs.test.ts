import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findClientProgram } from './client-programs.ts'

const directory = mkdtempSync(join(tmpdir(), 'rapport-programs-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Writes programs that print this output. */
function install(folder: string, output: string): string {
  mkdirSync(join(directory, folder))
  for (const name of ['pg_dump', 'pg_restore'])
    writeFileSync(join(directory, folder, name), `#!/bin/sh\necho "${output}"\n`, { mode: 0o755 })
  return join(directory, folder)
}
const folder = install('installed', 'pg_dump (PostgreSQL) 17.4 (Debian 17.4-1)')
const other = install('other', 'pg_dump (PostgreSQL) 18beta1')
const broken = install('broken', 'no version')

type Name = Parameters<typeof findClientProgram>[0]
const find = (majorVersion: number, environment: Record<string, string>, name: Name = 'pg_dump') =>
  findClientProgram(name, { majorVersion, version: `${majorVersion}.2` }, environment)

test('the programs are those of the PATH, or those beside PG_DUMP', async () => {
  const onPath = { path: 'pg_dump', version: '17.4', majorVersion: 17 }
  expect(await find(17, { PATH: folder })).toEqual(onPath)
  expect(await find(15, { PATH: folder, PG_DUMP: '' })).toEqual(onPath)
  const named = { PATH: folder, PG_DUMP: join(other, 'pg_dump') }
  const found = { version: '18beta1', majorVersion: 18 }
  expect(await find(18, named)).toEqual({ ...found, path: join(other, 'pg_dump') })
  expect(await find(18, named, 'pg_restore')).toEqual({ ...found, path: join(other, 'pg_restore') })
})

test('an older program is refused with both versions, the packages and the variable', async () => {
  const error = find(18, { PATH: folder })
  await expect(error).rejects.toThrow(/^PostgreSQL 18\.2 needs pg_dump 18 or newer, but pg_dump is 17\.4\.\n/)
  await expect(error).rejects.toThrow(/postgresql-client-18 \(Debian[^]*set PG_DUMP to/)
})

test('a missing program and one that does not run are refused', async () => {
  const named = { PATH: folder, PG_DUMP: join(directory, 'none/pg_dump') }
  await expect(find(17, named, 'pg_restore')).rejects.toThrow(`${join(directory, 'none/pg_restore')} is missing`)
  for (const PATH of ['/nonexistent', broken])
    await expect(find(17, { PATH })).rejects.toThrow('pg_dump 17 or newer, but pg_dump is missing or does not run.')
})
