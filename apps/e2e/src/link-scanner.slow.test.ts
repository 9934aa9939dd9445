import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createForm, createList } from './public-form.ts'
import { countOpenWork, type Stack, startStack } from './stack.ts'

let stack: Stack
let key: string
let email: string
beforeAll(async () => {
  stack = await startStack('postgres')
  ;({ key, email } = await stack.api.createWorkspace())
})
afterAll(() => stack.close())

test('a mail scanner that fetches every link of every mail changes nothing', async () => {
  const list = await createList(stack.api, key)
  const { id: formId } = await createForm(stack.api, key, { listId: list.id })
  const post = <Body>(path: string, body?: unknown) => stack.api.call<Body>('POST', path, { key, body })
  await post(`/public/forms/${formId}/submit`, { values: { email: 'ada@example.com', message: 'Hi', news: true } })
  await post(`/public/lists/${list.id}/subscribe`, { email: 'grace@example.com' })
  await post(`/lists/${list.id}/subscribers`, { email: 'mary@example.com', status: 'CONFIRMED' })
  const html = '<p>The news. <a href="{{ unsubscribeUrl }}">Unsubscribe</a></p>'
  const campaign = await post<{ id: string }>('/campaigns', { name: 'News', subject: 'News', listId: list.id, html })
  await post(`/campaigns/${campaign.body.id}/send`)
  await post(`/campaigns/${campaign.body.id}/send-test`, { email: 'editor@example.com' })
  await post('/invites', { email: 'alan@example.com', role: 'MEMBER' })
  await post('/auth/forgot-password', { email })
  const mails = await stack.inbox.waitFor(7)
  expect(mails.flatMap(({ to }) => to).toSorted()).toEqual([
    'ada@example.com',
    'alan@example.com',
    'editor@example.com',
    'grace@example.com',
    'mary@example.com',
    email,
    email,
  ])

  const links = new Set(mails.flatMap(({ html, text, headers }) => linksIn([html, text, ...Object.values(headers)])))
  expect([...links].map((link) => new URL(link).pathname).toSorted()).toEqual([
    '/accept-invite',
    '/public/subscriptions/confirm',
    '/public/subscriptions/confirm',
    '/public/unsubscribe',
    '/public/unsubscribe',
    '/reset-password',
    '/verify-email',
  ])
  const isIdle = async () => (await countOpenWork(stack)) === 0
  await waitUntil(isIdle, { describe: 'all work is done' })
  const before = await readAllRows()
  for (const link of links) {
    for (const accept of ['text/html,*/*;q=0.8', '*/*', 'application/json']) {
      const responses = [await stack.api.call('GET', link, { headers: { accept } })]
      responses.push(await stack.api.call('HEAD', link, { headers: { accept } }))
      expect(responses.map(({ status }) => status)).toEqual([200, 200])
    }
  }
  expect(await readAllRows()).toEqual(before)
})

function linksIn(texts: string[]): string[] {
  return texts.flatMap((text) => text.match(/https?:\/\/[^\s<>"')\]]+/g) ?? [])
}

/** Reads all rows of all tables except `workers`, which changes with every heartbeat. */
async function readAllRows(): Promise<Record<string, unknown[]>> {
  const { pool } = stack.database
  const tables = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_name <> 'workers'`,
  )
  const rows = await Promise.all(
    tables.rows.map(async ({ name }) => {
      const found = await pool.query<{ row: unknown }>(
        `select to_jsonb(t) as row from ${name} t order by to_jsonb(t)::text`,
      )
      return [name, found.rows.map(({ row }) => row)] as const
    }),
  )
  return Object.fromEntries(rows)
}
