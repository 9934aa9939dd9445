import { expect, test } from 'vitest'
import { startCommandHere } from '../testing.ts'
import { importContacts } from './import.ts'

const given = { 'on-conflict': 'skip', consent: false, 'each-event': false, 'dry-run': false, json: false }

test.each([
  [{}, '<file> or --follow is needed, and one of them'],
  [{ file: 'x.csv', follow: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b' }, '<file> or --follow is needed, and one of them'],
  [{ file: 'x.csv', list: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b' }, '--consent is needed with --list'],
  [{ file: 'x.csv' }, '--api or RAPPORT_API_URL is needed'],
  [{ file: 'x.csv', api: 'https://crm.example.com' }, '--key or RAPPORT_API_KEY is needed'],
  [{ file: '/nonexistent/x.csv', api: 'http://127.0.0.1:1', key: 'rpk_x' }, 'x.csv cannot be read (ENOENT)'],
  [{ file: '/', api: 'http://127.0.0.1:1', key: 'rpk_x' }, '/ cannot be read (it is a folder)'],
])('%o is refused: %s', async (options, problem) => {
  const { code } = startCommandHere(importContacts, { ...given, ...options })
  await expect(code).rejects.toMatchObject({ message: expect.stringContaining(problem), exitCode: 2 })
})

test('the key of the local installation goes to its own API and to no other', async () => {
  const local = { apiUrl: 'http://127.0.0.1:1', apiKey: 'rpk_local', environment: {} }
  const options = { ...given, file: import.meta.filename }
  const own = startCommandHere(importContacts, options, { local })
  await expect(own.code).rejects.toThrow('The API does not answer')
  const other = startCommandHere(importContacts, { ...options, api: 'https://crm.example.com' }, { local })
  await expect(other.code).rejects.toThrow('--key or RAPPORT_API_KEY is needed')
})
