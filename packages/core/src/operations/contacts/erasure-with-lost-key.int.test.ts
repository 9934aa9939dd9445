/** An erasure is complete although a SECRET_KEY is lost. */
import { createTestContact } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { events, suppressions } from '../../db/schema/index.ts'
import { deriveKeys } from '../../kernel/crypto.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { createSuppression } from '../../suppressions/suppressions.ts'
import { deleteContact } from './delete-contact.ts'
import { eraseNextStep } from './erase-contact.ts'
import { mergeContacts } from './merge-contacts.ts'

const ctx = useTestCtx(useTestDatabase())
/** As after the loss of the key. */
const withOtherKey = (): Ctx => ({ ...ctx, settings: { ...ctx.settings, keys: deriveKeys('another secret') } })

test('suppressions keep neither the contact nor a note', async () => {
  const [ada, duplicate] = [await createTestContact(ctx), await createTestContact(ctx)]
  for (const { email } of [ada, duplicate])
    await createSuppression(ctx, { email, reason: 'MANUAL', note: 'called on Monday' })
  await mergeContacts(withOtherKey(), ada.id, { contactId: duplicate.id })
  await deleteContact(withOtherKey(), ada.id)
  const { contactId, note } = suppressions
  expect(
    await ctx.db.select({ contactId, note }).from(suppressions).where(eq(suppressions.workspaceId, ctx.workspaceId)),
  ).toEqual([
    { contactId: null, note: null },
    { contactId: null, note: null },
  ])
})

test('an erasure that began under another key ends', async () => {
  const [ada, duplicate] = [await createTestContact(ctx), await createTestContact(ctx)]
  await mergeContacts(ctx, ada.id, { contactId: duplicate.id })
  await deleteContact(ctx, ada.id)
  while ((await eraseNextStep(withOtherKey(), uuidOf(ada.id))) !== 'done');
  const kept = await ctx.db.select({ data: events.data }).from(events).where(eq(events.workspaceId, ctx.workspaceId))
  const texts = kept.map(({ data }) => JSON.stringify(data))
  expect(texts.filter((text) => text.includes(ada.email) || text.includes(duplicate.email))).toEqual([])
})
