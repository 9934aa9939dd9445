import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { findExportFiles } from './export-files.ts'

const folder = useForFile(() => {
  const path = mkdtempSync(join(tmpdir(), 'rapport-export-'))
  return { path, close: () => rmSync(path, { recursive: true }) }
})
function writeFolder(...names: string[]): string {
  const path = mkdtempSync(join(folder.path, 'files-'))
  for (const name of names) writeFileSync(join(path, name), '')
  return path
}
type Given = Parameters<typeof findExportFiles>[0]
const find = (path: string, source: Given['source'] = 'mailchimp', status?: Given['status']) =>
  findExportFiles({ source, path, status })

test('files of opt-outs come first, with the status that their names say', async () => {
  const audience = 'email_audience_export_1a2b.csv'
  const kinds = ['subscribed', 'nonsubscribed', 'unsubscribed', 'cleaned'].map((kind) => `${kind}_${audience}`)
  const files = await find(writeFolder(...kinds, '.DS_Store', '._subscribed_x.csv', 'readme.txt'))
  expect(files.map(({ name, status }) => [name, status])).toEqual([
    [`cleaned_${audience}`, 'BOUNCED'],
    [`unsubscribed_${audience}`, 'UNSUBSCRIBED'],
    [`nonsubscribed_${audience}`, 'NONE'],
    [`subscribed_${audience}`, 'CONFIRMED'],
  ])
})

test('a file of Mailchimp whose name says nothing needs a status', async () => {
  const path = writeFolder('members.csv', 'cleaned_x.csv')
  await expect(find(path)).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining('members.csv') })
  expect((await find(join(path, 'members.csv'), 'mailchimp', 'NONE'))[0]).toMatchObject({ status: 'NONE' })
  expect((await find(join(path, 'members.csv'), 'listmonk'))[0]).toMatchObject({ status: undefined })
})

test('the stricter of --status and the name counts, also for the order of the files', async () => {
  const read = async (status: Given['status'], ...names: string[]) =>
    (await find(writeFolder(...names), 'brevo', status)).map((file) => [file.name, file.status])
  expect(await read('CONFIRMED', 'contacts.csv', 'unsubscribed.csv')).toEqual([
    ['unsubscribed.csv', 'UNSUBSCRIBED'],
    ['contacts.csv', 'CONFIRMED'],
  ])
  // A block can be lifted, and an opt-out of one list leaves the others.
  expect(await read('MANUAL', 'confirmed.csv', 'unsubscribed.csv', 'blocklisted.csv')).toEqual([
    ['blocklisted.csv', 'OPTED_OUT'],
    ['unsubscribed.csv', 'OPTED_OUT'],
    ['confirmed.csv', 'MANUAL'],
  ])
})

test.each([
  ['unsubscribed_and_bounced.csv', 'UNSUBSCRIBED'],
  ['unsubscribed_and_bounced.csv', undefined],
  ['bounced.csv', 'UNSUBSCRIBED'],
  ['unsubscribed.csv', 'BOUNCED'],
  ['unsubscribed.csv', 'MANUAL'],
] as const)('lifting a block reverts no opt-out: %s with --status %s', async (name, status) => {
  expect(await find(writeFolder(name), 'brevo', status)).toMatchObject([{ status: 'OPTED_OUT' }])
})

test('a single file whose name is stricter than --status is refused', async () => {
  const one = async (name: string, status: Given['status']) => find(join(writeFolder(name), name), 'brevo', status)
  await expect(one('contacts_cleaned.csv', 'CONFIRMED')).rejects.toMatchObject({
    exitCode: 2,
    message:
      '<file>: the name contacts_cleaned.csv says BOUNCED, and --status says CONFIRMED: rename it, or leave --status out',
  })
  expect(await one('contacts_cleaned.csv', 'BOUNCED')).toMatchObject([{ status: 'BOUNCED' }])
  expect(await one('confirmed.csv', 'NONE')).toMatchObject([{ status: 'NONE' }])
  expect(await one('unsubscribed.csv', 'MANUAL')).toMatchObject([{ status: 'OPTED_OUT' }])
  expect(await one('contacts.csv', 'CONFIRMED')).toMatchObject([{ status: 'CONFIRMED' }])
})

test('a folder without files, and a missing one, are errors of the command line', async () => {
  await expect(find(writeFolder('audience.zip'))).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('extract it'),
  })
  await expect(find('/nonexistent/folder')).rejects.toMatchObject({ exitCode: 2 })
})
