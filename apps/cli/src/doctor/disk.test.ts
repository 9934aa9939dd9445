import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { checkDisk, describeUnknown, diskCheck } from './disk.ts'

const gigabyte = 1e9
const check = (free: number, total: number) =>
  checkDisk('PostgreSQL', { freeBytes: free * gigabyte, totalBytes: total * gigabyte }).map(({ level }) => level)

test.each([
  [60, 100, 'ok'],
  [9, 100, 'warn'],
  [1.9, 100, 'fail'],
  // Little in percent, and much in bytes.
  [60, 4_000, 'ok'],
  [40, 4_000, 'warn'],
  [4, 4_000, 'fail'],
  // Little in bytes, and much in percent.
  [0.3, 0.5, 'ok'],
])('%d GB free of %d GB is %s', (free, total, level) => {
  expect(check(free, total)).toEqual([level])
})

test('folders on one disk are one finding, and a folder that cannot be read is unknown', async () => {
  const input = { config: {}, invalid: new Set<string>(), database: undefined, dnsServers: undefined }
  const found = await diskCheck.run({ ...input, backupDirectory: tmpdir() })
  expect(found.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^backups, temporary files: [\d.]+ [GM]B of [\d.]+ [GM]B are free$/),
  ])
  const missing = await diskCheck.run({ ...input, backupDirectory: '/nonexistent' })
  expect(missing.map(({ level, message }) => `${level}: ${message}`)).toContain(
    'ok: backups: unknown, as the folder does not exist',
  )
  expect(checkDisk('backups', undefined).map(({ message }) => message)).toEqual([
    'backups: unknown, as this account cannot read the folder',
  ])
})

test('the disk of PostgreSQL is unknown on another machine, or without the right', () => {
  expect(describeUnknown({ path: '/data', serverAddress: '203.0.113.7' })).toContain('another machine (203.0.113.7)')
  for (const serverAddress of [null, '127.0.0.1']) {
    expect(describeUnknown({ path: null, serverAddress })).toContain('needs pg_read_all_settings')
    expect(describeUnknown({ path: '/data', serverAddress })).toBeUndefined()
  }
})
