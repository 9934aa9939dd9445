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

/** Writes the files into a new folder, and imports it with `rapport import --from`. All imports end with the status. */
async function importFolder({ names, status }: { names: string[]; status: string }) {
  const path = mkdtempSync(join(folder.path, 'files-'))
  for (const name of names) writeFileSync(join(path, `${name}.csv`), 'email,status\nada@example.com,enabled\n')
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
  const words = ['import', '--from', 'listmonk', '--list', listId, '--api', api.url, '--key', 'rpk_test', path]
  const parsed = await parseCommandLine(commands, words)
  if ('print' in parsed) throw new Error(parsed.print)
  const uploads: { status: string | null; loggedBefore: string | undefined }[] = []
  api.respondWith(({ method, url }) => {
    if (method === 'POST')
      uploads.push({ status: new URL(url, api.url).searchParams.get('status'), loggedBefore: logged.at(-1) })
    return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(record) }
  })
  const { logged, code } = startInProcess(parsed.command, parsed.options)
  return { code: await code, logged, uploads }
}

test.each(['FAILED', 'CANCELED'])('after a file of opt-outs that is %s, no other file is imported', async (status) => {
  const { code, uploads, logged } = await importFolder({ names: ['unsubscribed', 'confirmed'], status })
  expect(code).toBe(1)
  expect(uploads).toMatchObject([{ status: 'UNSUBSCRIBED' }])
  expect(logged.join('\n')).toContain('Not imported, because the file before failed: confirmed.csv')
})

test('before each upload, the command says the status of all rows', async () => {
  const { uploads } = await importFolder({ names: ['unsubscribed', 'subscribers'], status: 'COMPLETED' })
  expect(uploads).toEqual([
    { status: 'UNSUBSCRIBED', loggedBefore: 'unsubscribed.csv: the status of all rows is UNSUBSCRIBED.' },
    { status: null, loggedBefore: 'subscribers.csv: each row says its own status.' },
  ])
})
