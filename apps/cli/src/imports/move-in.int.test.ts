import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import { parseCommandLine } from '../command-line.ts'
import { commands } from '../commands.ts'
import { startInProcess } from '../testing.ts'

const api = useForFile(startHttpReceiver)
const folder = useForFile(() => {
  const path = mkdtempSync(join(tmpdir(), 'rapport-move-in-'))
  return { path, close: () => rmSync(path, { recursive: true }) }
})
const listId = 'lst_01kag7m3v9e8fs2t4w6x8y0z1b'

test.each(['FAILED', 'CANCELED'])('after a file of opt-outs that is %s, no other file is imported', async (status) => {
  for (const name of ['unsubscribed', 'confirmed'])
    writeFileSync(join(folder.path, `${name}.csv`), 'email,status\nada@example.com,enabled\n')
  const counts = {
    processed: 0,
    created: 0,
    updated: 0,
    skipped: 0,
    failed: 0,
    confirmed: 0,
    optedOut: 0,
    suppressed: 0,
  }
  const record = { id: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b', status, dryRun: false, listId, errors: [], ...counts }
  api.respondWith(() => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(record),
  }))
  const words = ['import', '--from', 'listmonk', '--list', listId, '--api', api.url, '--key', 'rpk_test', folder.path]
  const parsed = await parseCommandLine(commands, words)
  if ('print' in parsed) throw new Error(parsed.print)
  const before = api.requests.length
  const { logged, code } = startInProcess(parsed.command, parsed.options)
  expect(await code).toBe(1)
  const uploads = api.requests.slice(before).filter(({ method }) => method === 'POST')
  expect(uploads.map(({ url }) => new URL(url, api.url).searchParams.get('status'))).toEqual(['UNSUBSCRIBED'])
  expect(logged.join('\n')).toContain('Not imported, because the file before failed: confirmed.csv')
})
