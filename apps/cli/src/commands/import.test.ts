import { expect, test } from 'vitest'
import { startInProcess } from '../testing.ts'
import { importContacts } from './import.ts'

const defaults = {
  'on-conflict': 'skip',
  consent: false,
  'create-companies': false,
  'each-event': false,
  'dry-run': false,
  json: false,
  'create-fields': false,
}

test.each([
  [{}, 'exactly one of <file> and --follow is required'],
  [{ file: 'x.csv', follow: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b' }, 'exactly one of <file> and --follow is required'],
  [{ file: 'x.csv', 'create-fields': true }, '--create-fields requires --from, without --dry-run'],
  [{ file: 'x.csv', consent: true }, '--consent requires --list'],
  [{ file: '.', from: 'brevo', format: 'csv' }, '--from knows the format'],
  [{ follow: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b', 'dry-run': true }, '--follow uploads nothing: it takes no --dry-run'],
  [{ follow: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b', from: 'brevo' }, '--follow uploads nothing: it takes no --from'],
  [
    { follow: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b', 'on-conflict': 'update' },
    '--follow uploads nothing: it takes no --on-conflict',
  ],
  [{ file: 'x.csv' }, '--api or RAPPORT_API_URL is required'],
  [{ file: 'x.csv', api: 'https://crm.example.com' }, '--key or RAPPORT_API_KEY is required'],
  [{ file: '/nonexistent/x.csv', api: 'http://127.0.0.1:1', key: 'rpk_x' }, 'x.csv cannot be read (ENOENT)'],
  [{ file: 'x.csv', api: 'http://127.0.0.1:1', key: 'rpk_\n' }, 'apiKey: must be an API key (rpk_…)'],
  [{ file: '/', api: 'http://127.0.0.1:1', key: 'rpk_x' }, '/ cannot be read (it is a folder)'],
])('rejects %o: %s', async (options, problem) => {
  const { code } = startInProcess(importContacts, { ...defaults, ...options })
  await expect(code).rejects.toMatchObject({ message: expect.stringContaining(problem), exitCode: 2 })
})

test('the key of the local installation is sent only to its own API', async () => {
  const local = { apiUrl: 'http://127.0.0.1:1', apiKey: 'rpk_local', environment: {} }
  const options = { ...defaults, file: import.meta.filename }
  const own = startInProcess(importContacts, options, { local })
  await expect(own.code).rejects.toThrow('The API does not respond')
  const other = startInProcess(importContacts, { ...options, api: 'https://crm.example.com' }, { local })
  await expect(other.code).rejects.toThrow('--key or RAPPORT_API_KEY is required')
})
