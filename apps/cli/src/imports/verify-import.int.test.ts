import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Import } from '@rapport/sdk'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import { openApi } from '../api-client.ts'
import { startInProcess } from '../testing.ts'
import { type Difference, verifyImport } from './verify-import.ts'

const api = useForFile(startHttpReceiver)
const folder = useForFile(() => {
  const path = mkdtempSync(join(tmpdir(), 'rapport-verify-'))
  return { path, close: () => rmSync(path, { recursive: true }) }
})
const listId = 'lst_01kag7m3v9e8fs2t4w6x8y0z1b'

interface Here {
  /** Status by the name of the contact. */
  contacts: Record<string, string>
  confirmed?: string[]
  left?: string[]
  recorded?: number
}
const emailOf = (name: string) => `${name}@example.com`

/** Compares an export with an API that returns these contacts. */
async function verify(source: Record<string, string>, here: Here, { hasList = true } = {}) {
  const lines = Object.entries(source).map(([name, status]) => `${name.toUpperCase()}@example.com,${status}`)
  const path = join(folder.path, 'subscribers.csv')
  writeFileSync(path, ['email,status', ...lines, ''].join('\n'))
  api.respondWith(({ url }) => {
    const filter = new URL(url, api.url).searchParams.get('filter')
    const names = filter === null ? Object.keys(here.contacts) : filter.includes('all') ? here.left : here.confirmed
    const contacts = (names ?? []).map((name) => ({
      email: emailOf(name),
      emailSubscribedStatus: here.contacts[name] ?? 'NONE',
    }))
    const body = contacts.map((contact) => `${JSON.stringify(contact)}\n`).join('')
    return { headers: { 'content-type': 'application/x-ndjson' }, body }
  })
  const imports = [{ optedOut: 0, suppressed: here.recorded ?? 0 }] as Import[]
  let outcome: Awaited<ReturnType<typeof verifyImport>> | undefined
  const command = {
    run: async (cli: Parameters<typeof openApi>[0]) => {
      const session = { cli, api: openApi(cli, { api: api.url, key: 'rpk_test' }), rows: { count: undefined } }
      const files = [{ path, name: 'subscribers.csv', status: undefined }]
      outcome = await verifyImport(session, {
        source: 'listmonk',
        files,
        imports,
        listId: hasList ? listId : undefined,
      })
      return 0
    },
  }
  await startInProcess(command as unknown as Parameters<typeof startInProcess>[0], {}).code
  // The export writes the addresses in another case than the API.
  return outcome && { ...outcome, widened: inLowerCase(outcome.widened), lost: inLowerCase(outcome.lost) }
}

const inLowerCase = ({ count, people }: Difference) => ({
  count,
  people: people.map(({ email, reason }) => ({ email: email.toLowerCase(), reason })),
})

const none = { count: 0, people: [] }
const one = (name: string, reason: string) => ({ count: 1, people: [{ email: emailOf(name), reason }] })

test('equal sets have no difference; other contacts here do not matter', async () => {
  const source = { ada: 'enabled', zoe: 'blocklisted', kay: 'unknown' }
  const contacts = { ada: 'SUBSCRIBED', zoe: 'UNSUBSCRIBED', kay: 'NONE', eve: 'SUBSCRIBED' }
  expect(await verify(source, { contacts, confirmed: ['ada', 'eve'] })).toEqual({
    addresses: 3,
    widened: none,
    lost: none,
  })
})

test.each([
  ['blocklisted', 'SUBSCRIBED', 'refused there, confirmed here'],
  ['unknown', 'SUBSCRIBED', 'silent there, confirmed here'],
])('a person who is %s there and confirmed here is widened', async (status, subscribed, reason) => {
  const here = { contacts: { zoe: subscribed }, confirmed: ['zoe'], recorded: 1 }
  expect(await verify({ zoe: status }, here)).toMatchObject({ widened: one('zoe', reason), lost: none })
})

test('an opt-out that is not recorded here is widened, with and without a list', async () => {
  const here = { contacts: { zoe: 'NONE' }, recorded: 1 }
  const widened = one('zoe', 'refused there, not recorded here')
  expect(await verify({ zoe: 'blocklisted' }, here)).toMatchObject({ widened, lost: none })
  expect(await verify({ zoe: 'blocklisted' }, here, { hasList: false })).toMatchObject({ widened, lost: none })
  expect(await verify({ zoe: 'blocklisted' }, { ...here, left: ['zoe'] })).toMatchObject({ widened: none })
})

test('an opt-out without a contact is compared by the count of the import', async () => {
  expect(await verify({ zoe: 'blocklisted' }, { contacts: {}, recorded: 1 })).toMatchObject({ widened: none })
  expect(await verify({ zoe: 'blocklisted' }, { contacts: {} })).toMatchObject({ widened: { count: 1 } })
})

test.each([
  ['not confirmed here', { contacts: { ada: 'PENDING' } }],
  ['refused here', { contacts: { ada: 'BOUNCED' } }],
  ['no contact here', { contacts: {} }],
])('a person who is mailable there is lost: %s', async (reason, here) => {
  expect(await verify({ ada: 'enabled' }, here)).toMatchObject({ widened: none, lost: one('ada', reason) })
})

test('without a list, only a person without a contact is lost', async () => {
  const source = { ada: 'enabled', zoe: 'enabled' }
  expect(await verify(source, { contacts: { ada: 'NONE' } }, { hasList: false })).toMatchObject({
    lost: one('zoe', 'no contact here'),
  })
})
