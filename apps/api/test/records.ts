/** Creates records of every kind, from the examples of the OpenAPI document. */
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { eraseNextStep } from '@rapport/core/operations/contacts/erase-contact.ts'
import { freshEmail, type Json, type Operation, type TestApi, type TestWorkspace } from './testing.ts'

/** Existing ids by prefix, for use in requests. */
export type Pool = Map<string, string[]>

/** Replaces the unknown ids of the examples with existing ones. */
export const withKnownIds = (pool: Pool, text: string) =>
  text.replaceAll(/([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}/g, (id, prefix: string) => pool.get(prefix)?.[0] ?? id)

export function addIds(pool: Pool, text: string): void {
  for (const [id, prefix = ''] of text.matchAll(/([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}/g)) {
    // Leave out the credential of the test and its owner, so that no request revokes them.
    if (!['wsp', 'usr', 'ses', 'key'].includes(prefix))
      pool.set(prefix, [...new Set([...(pool.get(prefix) ?? []), id])].slice(-20))
  }
}

/**
 * Creates a record from each example body, twice, because some need others; then collects the ids of all listings.
 * Returns the responses of the requests that created something.
 */
export async function createRecords(api: TestApi, key: string, operations: readonly Operation[]) {
  const pool: Pool = new Map()
  const created: Json[] = []
  const makers = operations.filter(({ method, isSecured }) => method === 'POST' && isSecured)
  for (const { path, example } of [...makers, ...makers]) {
    const { body, text } = await api.call<Json | undefined>('POST', withKnownIds(pool, path), {
      key,
      ...bodyOf(pool, example),
    })
    if (body) created.push(body)
    addIds(pool, text)
  }
  for (const { method, template, isSecured } of operations) {
    if (method === 'GET' && isSecured && !template.includes('{'))
      addIds(pool, (await api.call('GET', template, { key })).text)
  }
  return { pool, created }
}

function bodyOf(pool: Pool, example: unknown): { body?: Json } {
  if (typeof example !== 'object' || example === null) return {}
  const email = 'email' in example && { email: freshEmail() }
  return { body: JSON.parse(withKnownIds(pool, JSON.stringify({ ...example, ...email }))) as Json }
}

/** Deletes a contact, and does what the worker does afterward. Returns the id. */
export async function eraseTestContact(api: TestApi, { id, key }: TestWorkspace, contactId: string): Promise<string> {
  await api.call('DELETE', `/contacts/${contactId}`, { key })
  const uuid = uuidOf(Id('con').parse(contactId))
  while ((await eraseNextStep(api.ctx(id), uuid)) !== 'done');
  return contactId
}

/** Returns the id of the new session. */
export async function openAnotherSession(api: TestApi, { email, password, token }: TestWorkspace): Promise<string> {
  await api.call('POST', '/auth/login', { body: { email, password } })
  const { body } = await api.call<{ data: { id: string }[] }>('GET', '/sessions', { key: token })
  return body.data[0]?.id ?? ''
}
