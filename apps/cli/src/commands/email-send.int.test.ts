import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, onTestFinished, test } from 'vitest'
import { runCommandLine } from '../testing.ts'

const api = useForFile(startHttpReceiver)
const template = 'tpl_01kag7m3v9e8fs2t4w6x8y0z1b'

/** Runs the command. Returns its output and the body that the API received. */
async function send(...words: string[]) {
  api.respondWith(() => ({ headers: { 'content-type': 'application/json' }, body: '{"id":"mai_1"}' }))
  const before = api.requests.length
  const { stdout } = await runCommandLine('', ['email', 'send', template, ...words, '--api', api.url, '--key', 'rpk_x'])
  const request = api.requests[before]
  return { stdout, headers: request?.headers, body: JSON.parse(String(request?.body)) as object }
}

function writeData(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'rapport-email-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'data.json'), content)
  return join(folder, 'data.json')
}

test('values are texts with =, and JSON with :=', async () => {
  const { stdout, body } = await send('ada@example.com', 'verifyUrl=https://a.example/?x=1', 'total:=12.5', 'n=3')
  expect(stdout).toBe('mai_1')
  const data = { verifyUrl: 'https://a.example/?x=1', total: 12.5, n: '3' }
  expect(body).toEqual({ templateId: template, to: { email: 'ada@example.com' }, data, tags: [] })
})

test('an address is one whatever it begins with', async () => {
  const { body } = await send('con_artist@example.com')
  expect(body).toMatchObject({ to: { email: 'con_artist@example.com' } })
})

test('arguments take precedence over the file; labels and a key are passed on', async () => {
  const file = writeData('{"total": 1, "lines": [{"name": "Tea"}]}')
  const contactId = 'con_01kag7m3v9e8fs2t4w6x8y0z1b'
  const given = ['--data-file', file, '--tags', 'receipt, eu', '--idempotency-key', 'order-1']
  const { body, headers } = await send(contactId, 'total:=2', ...given)
  const data = { total: 2, lines: [{ name: 'Tea' }] }
  expect(body).toEqual({ templateId: template, to: { contactId }, data, tags: ['receipt', 'eu'] })
  expect(headers?.['idempotency-key']).toBe('order-1')
})

test.each([
  [['total'], '"total": must be name=text'],
  [['total:=1,5'], '"total:=1,5": must be name=text'],
  [['--data-file', '/nonexistent'], '/nonexistent: ENOENT'],
])('%j is refused before anything is sent', async (words, message) => {
  const before = api.requests.length
  await expect(send('ada@example.com', ...words)).rejects.toThrow(message)
  expect(api.requests).toHaveLength(before)
})

test('a file that is no JSON object is refused', async () => {
  for (const content of ['[1]', 'null', '{']) {
    await expect(send('ada@example.com', '--data-file', writeData(content))).rejects.toThrow('must be a JSON object')
  }
})
