import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAllRows } from './all-rows.ts'
import { createForm, createList } from './public-form.ts'
import { type Stack, startStack } from './stack.ts'

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
  const { id: trackingFormId } = await createForm(stack.api, key, { fields: trackingFields })
  const post = <Body>(path: string, body?: unknown) => stack.api.call<Body>('POST', path, { key, body })
  await post(`/public/forms/${formId}/submit`, { values: { email: 'ada@example.com', message: 'Hi', news: true } })
  await post(`/public/forms/${trackingFormId}/submit`, { values: { email: 'joan@example.com', tracking: true } })
  await post(`/public/lists/${list.id}/subscribe`, { email: 'grace@example.com' })
  await post(`/lists/${list.id}/subscribers`, { email: 'mary@example.com', status: 'CONFIRMED' })
  const html = `<p>The news.</p>
    <p><a href="{{ unsubscribeUrl }}">Unsubscribe</a> <a href="{{ preferencesUrl }}">Preferences</a></p>`
  const campaign = await post<{ id: string }>('/campaigns', { name: 'News', subject: 'News', listId: list.id, html })
  await post(`/campaigns/${campaign.body.id}/send`)
  await post(`/campaigns/${campaign.body.id}/send-test`, { email: 'editor@example.com' })
  await post('/invites', { email: 'alan@example.com', role: 'MEMBER' })
  await post('/auth/forgot-password', { email })
  const mails = await stack.inbox.waitFor(8)
  expect(mails.flatMap(({ to }) => to).toSorted()).toEqual([
    'ada@example.com',
    'alan@example.com',
    'editor@example.com',
    'grace@example.com',
    'joan@example.com',
    'mary@example.com',
    email,
    email,
  ])

  const links = new Set(mails.flatMap(({ html, text, headers }) => linksIn([html, text, ...Object.values(headers)])))
  expect([...links].map((link) => new URL(link).pathname).toSorted()).toEqual([
    '/accept-invite',
    '/public/preferences',
    '/public/preferences',
    '/public/subscriptions/confirm',
    '/public/subscriptions/confirm',
    '/public/tracking/confirm',
    '/public/unsubscribe',
    '/public/unsubscribe',
    '/reset-password',
    '/verify-email',
  ])
  const before = await readAllRows(stack)
  // A link of a page is added while the set is visited, as a scanner that follows pages finds it.
  for (const link of links) {
    for (const accept of ['text/html,*/*;q=0.8', '*/*', 'application/json']) {
      const get = await stack.api.call('GET', link, { headers: { accept } })
      const head = await stack.api.call('HEAD', link, { headers: { accept } })
      expect([link, get.status, head.status]).toEqual([link, 200, 200])
      for (const path of pathsIn(String(get.body))) links.add(new URL(path, link).href)
    }
  }
  expect(await readAllRows(stack)).toEqual(before)
})

const trackingFields = [
  { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
  { id: 'tracking', label: 'You may record what I open and click.', type: 'CONSENT', purpose: 'TRACKING' },
]

function linksIn(texts: string[]): string[] {
  return texts.flatMap((text) => text.match(/https?:\/\/[^\s<>"')\]]+/g) ?? [])
}

/** The links of a page. They are relative. */
function pathsIn(page: string): string[] {
  return [...page.matchAll(/\shref="([^"]+)"/g)].map(([, path = '']) => path.replaceAll('&amp;', '&'))
}
