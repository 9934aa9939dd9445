/** A pg_restore of version 17 or newer changes a setting that older servers do not have. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseServer } from '@rapport/core/backups/server-databases.ts'
import { afterAll, expect, test } from 'vitest'
import { restoreDump } from './restore-dump.ts'

const directory = mkdtempSync(join(tmpdir(), 'rapport-restore-'))
afterAll(() => rmSync(directory, { recursive: true }))

const unknownSetting = [
  'pg_restore: error: could not execute query: ERROR:  unrecognized configuration parameter "transaction_timeout"',
  'Command was: SET transaction_timeout = 0;',
]
const ignored = (count: number) => `pg_restore: warning: errors ignored on restore: ${count}`

/** Restores with a program that prints these messages and then runs `end`. */
function restoreWith(messages: readonly string[], { end, serverVersion }: { end: string; serverVersion: number }) {
  const path = join(directory, 'pg_restore')
  const lines = messages.map((message) => `echo '${message}' >&2`)
  writeFileSync(path, ['#!/bin/sh', 'cat > /dev/null', ...lines, end, ''].join('\n'), { mode: 0o755 })
  async function* read() {
    yield Buffer.from('PGDMP')
  }
  return restoreDump(
    { path: 'rapport.dump', bytes: 5, read },
    {
      program: { path, version: '18.4', majorVersion: 18 },
      server: { majorVersion: serverVersion } as DatabaseServer,
      name: 'rapport',
      url: 'postgres://127.0.0.1:1/rapport',
      environment: { PATH: '/usr/bin:/bin' },
      signal: new AbortController().signal,
    },
  )
}

test('ignores only errors about this setting, and only on an older server', async () => {
  const messages = [...unknownSetting, ignored(1)]
  await restoreWith(messages, { end: 'exit 1', serverVersion: 16 })
  await restoreWith([], { end: 'exit 0', serverVersion: 16 })
  await expect(restoreWith(messages, { end: 'exit 1', serverVersion: 17 })).rejects.toThrow('exited with code 1')
  await expect(restoreWith(unknownSetting, { end: 'exit 1', serverVersion: 16 })).rejects.toThrow('exited with code 1')
  await expect(restoreWith([...unknownSetting, ignored(2)], { end: 'exit 1', serverVersion: 16 })).rejects.toThrow(
    'exited with code 1',
  )
})
