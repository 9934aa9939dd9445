/** Event types and mail events: routes of the contract without a test elsewhere. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { freshEmail, type Json, startTestApi } from '../testing.ts'

interface EventType {
  type: string
  schema: Json
  example: Json
}

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const listOf = async <Item = Json>(path: string) => (await call('GET', path)).body['data'] as Item[]

test('GET /event-types: a page with the schema of each type and a true example', async () => {
  const page = await call('GET', '/event-types?limit=100')
  expect(page.body['nextCursor']).toBeNull()
  const types = await listOf<EventType>('/event-types?limit=100')
  expect(types.map(({ type }) => type).toSorted()).toEqual(
    [
      'contact.created contact.updated contact.deleted contact.merged form.submitted',
      'company.created company.updated company.deleted',
      'subscription.created subscription.confirmed subscription.unsubscribed tracking_consent.changed',
      'deal.created deal.updated deal.stage_changed deal.won deal.lost deal.deleted',
      'task.created task.updated task.completed task.deleted list.deleted webhook.disabled webhook.test',
      'note.created note.updated note.deleted',
      'campaign.sending campaign.sent campaign.canceled import.completed mail.bounced mail.complained',
      'domain.verified domain.failed confirmations.withheld template.paused',
      'email.sent email.failed email.interrupted email.skipped',
    ]
      .flatMap((line) => line.split(' '))
      .toSorted(),
  )
  const exampleOf = (type: string) => JSON.stringify(types.find((one) => one.type === type)?.example)
  expect(exampleOf('deal.won')).toContain('"status":"WON"')
  expect(exampleOf('task.completed')).toContain('"status":"DONE"')
  expect(JSON.stringify(types[0]?.schema)).toContain('redacted')
})

test('POST /mail-events: reports of bounces and complaints', async () => {
  const contact = await api.create<Json & { id: string; email: string }>('/contacts', workspace.key, {
    email: freshEmail(),
  })
  const list = await api.create<{ id: string }>('/lists', workspace.key, { name: 'Newsletter' })
  await api.create(`/lists/${list.id}/subscribers`, workspace.key, { contactId: contact.id, status: 'CONFIRMED' })
  const report = { type: 'BOUNCE', email: contact.email, permanent: true, detail: '550 unknown user' }
  expect([200, 202, 204]).toContain((await call('POST', '/mail-events', report)).status)
  expect((await call('GET', `/contacts/${contact.id}`)).body).toMatchObject({ emailSubscribedStatus: 'BOUNCED' })
  await expect.poll(() => listOf('/events?type=mail.bounced')).toHaveLength(1)
})
