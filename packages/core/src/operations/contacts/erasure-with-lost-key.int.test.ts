/** An erasure is complete although a SECRET_KEY is lost. */
import { createTestContact } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { suppressions } from '../../db/schema/index.ts'
import { deriveKeys } from '../../kernel/crypto.ts'
import type { Ctx } from '../../request/context.ts'
import { createSuppression } from '../../suppressions/suppressions.ts'
import { deleteContact } from './delete-contact.ts'
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
