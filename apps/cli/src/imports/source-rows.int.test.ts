/** Reads files with the headers, quoting and words of each system. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { readSourceRows } from './source-rows.ts'
import type { FileStatus } from './source-words.ts'

const folder = useForFile(() => {
  const path = mkdtempSync(join(tmpdir(), 'rapport-rows-'))
  return { path, close: () => rmSync(path, { recursive: true }) }
})

type Source = Parameters<typeof readSourceRows>[0]
async function read(source: Source, lines: string[], status?: FileStatus) {
  const path = join(folder.path, 'export.csv')
  writeFileSync(path, `\ufeff${lines.join('\r\n')}\r\n`)
  const rows: [number, string | undefined, string][] = []
  for await (const { line, email, word } of readSourceRows(source, { path, name: 'export.csv', status }))
    rows.push([line, email, word])
  return rows
}

test('listmonk: only enabled people are mailable', async () => {
  const statuses = ['enabled', 'disabled', 'blocklisted', 'something new']
  const lines = statuses.map((status, at) => `id,p${at}@example.com,"Ada ""A"", Countess",{},${status},,`)
  expect(await read('listmonk', ['uuid,email,name,attributes,status,created_at,updated_at', ...lines])).toEqual([
    [2, 'p0@example.com', 'mailable'],
    [3, 'p1@example.com', 'refused'],
    [4, 'p2@example.com', 'refused'],
    [5, 'p3@example.com', 'silent'],
  ])
})

test('mailchimp: the columns and the status of the file decide', async () => {
  const subscribed = ['"Email Address","First Name",LAST_CHANGED', '"ada@example.com",Ada,']
  expect(await read('mailchimp', subscribed, 'CONFIRMED')).toEqual([[2, 'ada@example.com', 'mailable']])
  expect(await read('mailchimp', subscribed, 'NONE')).toEqual([[2, 'ada@example.com', 'silent']])
  const left = ['"Email Address",UNSUB_TIME', 'zoe@example.com,"2020-01-02 03:04:05"']
  expect(await read('mailchimp', left, 'CONFIRMED')).toEqual([[2, 'zoe@example.com', 'refused']])
})

test('brevo: a blocklisted channel is refused, and no subscribed one is silent', async () => {
  const lines = [
    'EMAIL;_SUBSCRIBED;_BLOCKLISTED',
    'a@example.com;[email_marketing|sms_marketing];',
    'b@example.com;sms_marketing;email_marketing',
    'c@example.com;sms_marketing;',
    'not an address;email_marketing;',
  ]
  expect(await read('brevo', lines)).toEqual([
    [2, 'a@example.com', 'mailable'],
    [3, 'b@example.com', 'refused'],
    [4, 'c@example.com', 'silent'],
    [5, undefined, 'mailable'],
  ])
  expect(await read('brevo', ['EMAIL;PRENOM', 'a@example.com;Ada'])).toEqual([[2, 'a@example.com', 'mailable']])
})

test('resend: unsubscribed is true or false', async () => {
  const lines = ['id,email,unsubscribed', '1,a@example.com,false', '2,b@example.com,true', '3,c@example.com,']
  expect(await read('resend', lines)).toMatchObject([
    [2, 'a@example.com', 'mailable'],
    [3, 'b@example.com', 'refused'],
    [4, 'c@example.com', 'silent'],
  ])
})
