import { waitUntil } from '@rapport/testing/wait.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { createContactsFile } from './contacts-file.ts'
import { startStack } from './stack.ts'

interface Contact {
  id: string
  email: string
  firstName: string
  lastName: string
  tags: string[]
  [field: string]: unknown
}
interface Import {
  id: string
  status: string
  processed: number
  created: number
  updated: number
  skipped: number
  failed: number
  errors: { line: number; message: string }[]
}

const stack = useForFile(() => startStack('postgres'))

test('imports, searches, merges and exports contacts; a reimport changes nothing', async () => {
  const file = createContactsFile()
  const key = await createWorkspace()
  const first = await importFile(key, file.csv, '')
  expect(first).toMatchObject({ status: 'COMPLETED', processed: file.rows, skipped: file.duplicates, updated: 0 })
  expect(first.errors.map((error) => error.line)).toEqual(file.faultyLines)
  expect(first.created + first.skipped + first.failed).toBe(file.rows)

  const found = await find(key, 'search=Márqez')
  expect(found[0]?.lastName).toBe('García "Lolo" Márquez')
  const [one, other] = [await find(key, 'email=person1@example.com'), await find(key, 'email=person2@example.com')]
  const merged = await stack.api.call<Contact>('POST', `/contacts/${one[0]?.id}/merge`, {
    key,
    body: { contactId: other[0]?.id },
  })
  expect(merged.status).toBe(200)

  const csv = await exportFile(key, 'csv')
  const contacts = await exportContacts(key)
  expect(contacts).toHaveLength(first.created - 1)

  const reimported = await importFile(key, csv, '?onConflict=update')
  expect(reimported).toMatchObject({ status: 'COMPLETED', created: 0, updated: 0, failed: 0, errors: [] })
  expect(await exportContacts(key)).toEqual(contacts)

  const otherKey = await createWorkspace()
  const copy = await importFile(otherKey, csv, '')
  expect(copy).toMatchObject({ status: 'COMPLETED', created: contacts.length, failed: 0, errors: [] })
  expect(await exportContacts(otherKey)).toEqual(contacts)
})

async function createWorkspace(): Promise<string> {
  const { key } = await stack.api.createWorkspace()
  for (const field of [
    { key: 'plan', label: 'Plan', type: 'SELECT', options: ['free', 'pro'] },
    { key: 'seats', label: 'Seats', type: 'NUMBER' },
    { key: 'note', label: 'Note', type: 'TEXT' },
  ]) {
    const created = await stack.api.call('POST', '/custom-fields', { key, body: field })
    expect(created.status).toBe(201)
  }
  return key
}

async function importFile(key: string, csv: string, query: string): Promise<Import> {
  const accepted = await stack.api.call<Import>('POST', `/contacts/import${query}`, {
    key,
    raw: csv,
    headers: { 'content-type': 'text/csv' },
  })
  expect(accepted.body).toMatchObject({ status: 'QUEUED' })
  return waitUntil(
    async () => {
      const { body } = await stack.api.call<Import>('GET', `/imports/${accepted.body.id}`, { key })
      return body.status === 'COMPLETED' || body.status === 'FAILED' ? body : undefined
    },
    { describe: 'the import has ended', timeoutMs: 30_000 },
  )
}

async function find(key: string, query: string): Promise<Contact[]> {
  const { body } = await stack.api.call<{ data: Contact[] }>('GET', `/contacts?${query}`, { key })
  return body.data
}

async function exportFile(key: string, format: string): Promise<string> {
  const { status, body } = await stack.api.call<string>('GET', `/contacts/export?format=${format}`, { key })
  expect(status).toBe(200)
  return body
}

/** The exported contacts, sorted by email address, without the fields that differ between workspaces. */
async function exportContacts(key: string): Promise<Partial<Contact>[]> {
  const lines = (await exportFile(key, 'ndjson')).trimEnd().split('\n')
  return lines
    .map((line) => JSON.parse(line) as Contact)
    .map(
      ({ id: _id, createdAt: _created, updatedAt: _updated, lastActivityAt: _active, ...contact }) =>
        contact as Partial<Contact>,
    )
    .toSorted((a, b) => (String(a.email) < String(b.email) ? -1 : 1))
}
