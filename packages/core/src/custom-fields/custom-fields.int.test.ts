import { expect, test } from 'vitest'
import { createTestContact, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, openUnrepeated, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { createCampaign } from '../campaigns/campaigns.ts'
import { createForm } from '../forms/forms.ts'
import { FormInput } from '../forms/forms.schema.ts'
import { createWebhook } from '../operations/webhooks/save-webhook.ts'
import type { Ctx } from '../request/context.ts'
import { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { WebhookInput } from '../webhooks/webhooks.schema.ts'
import {
  checkCustomValue,
  createCustomField,
  lockCustomField,
  readCustomFields,
  updateCustomField,
} from './custom-fields.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const form = FormInput.parse({
  name: 'Contact us',
  fields: [{ label: 'Plan', type: 'SELECT', options: ['pro'], mapsTo: 'customFieldValues.plan' }],
})
const listWith = (query: Record<string, string>) => (ctx: Ctx) => listContacts(ctx, ContactQuery.parse(query))

const requests: [string, (ctx: Ctx) => Promise<unknown>][] = [
  ['a filter', listWith({ 'customField.plan': 'pro' })],
  ['a filter with an unknown key', (ctx) => listWith({ 'customField.plam': 'x' })(ctx).catch(() => {})],
  ['a contact', (ctx) => createTestContact(ctx, { customFieldValues: { plan: 'pro' } })],
  ['a form', (ctx) => createForm(ctx, form)],
  [
    'a campaign',
    async (ctx) => {
      const listId = (await createTestList(ctx)).id
      await createCampaign(ctx, { name: 'x', subject: '{{ contact.customFieldValues.plan }}', listId, text: 'x' })
    },
  ],
]

test.each(requests)('%s reads only the definitions that it names', async (_, request) => {
  for (const key of ['plan', 'size']) {
    await createCustomField(ctx, { key, label: key, type: 'SELECT', options: ['free', 'pro'] })
  }
  const statements = await recordStatements(database, ctx, request)
  const ofFields = statements.filter(({ text }) => /from "?custom_fields/.test(text))
  expect(ofFields.length).toBeGreaterThan(0)
  expect(ofFields.filter(({ text }) => text.includes('options') && !text.includes('"key" in ('))).toEqual([])
})

test('the message about a wrong value does not repeat all options', async () => {
  const options = Array.from({ length: 200 }, (_, number) => `${number}`.padEnd(200, 'x'))
  await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'SELECT', options })
  const result = checkCustomValue(await readCustomFields(ctx, 'CONTACT'), 'plan', 'nonsense')
  expect('message' in result && result.message.length < 1_000).toBe(true)
})

test('options that grow do not deadlock with a webhook that names their field', async () => {
  const { id } = await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'SELECT', options: ['free'] })
  const unrepeated = { ...ctx, db: openUnrepeated(database) }
  const holding = await openTransaction(ctx.db, (db) => lockCustomField({ ...ctx, db }, id))
  const changing = updateCustomField(unrepeated, id, { options: ['free', 'pro'] })
  await waitUntilBlocked(database.db)
  const filter = { changed: ['customFieldValues.plan'] }
  const webhook = WebhookInput.parse({ url: 'https://example.com', eventTypes: ['contact.updated'], filter })
  const creating = createWebhook(unrepeated, webhook)
  await waitUntilBlocked(database.db, 2)
  await holding.commit()
  expect(await Promise.all([changing, creating])).toMatchObject([{ options: ['free', 'pro'] }, { enabled: true }])
})
