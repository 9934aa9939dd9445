import { claimTestEmail, createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestSubscriber, readStatusesOn } from '@rapport/testing/consent/test-subscriber.ts'
import { createTestList, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { suppressions } from '../db/schema/index.ts'
import { readEmail } from '../emails/emails.ts'
import { deleteList } from '../lists/delete-list.ts'
import { confirmSubscription, subscribe } from '../lists/subscribe.ts'
import { addSubscriber } from '../lists/subscribers.ts'
import { findEmailBlocks } from './email-block.ts'
import { suppress } from './suppress.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const email = 'ada@example.com'

test.each(['COMPLAINED', 'BOUNCED'] as const)(
  'a %s contact gets no email if its suppression is lost',
  async (reason) => {
    const template = await createTestTemplate(ctx)
    const list = await createTestList(ctx)
    await addSubscriber(ctx, list.id, { email, status: 'CONFIRMED' })
    const { id } = await createTestEmail(ctx, template.id)
    await suppress(ctx, [{ email, reason, source: 'MAIL_EVENT' }], { emitsEvents: true })
    await database.db.delete(suppressions).where(eq(suppressions.workspaceId, ctx.workspaceId))
    const refused = { code: 'opted_out', message: expect.stringContaining(reason) }
    await expect(createTestEmail(ctx, template.id)).rejects.toMatchObject(refused)
    expect(await claimTestEmail(ctx, id)).toBeUndefined()
    expect((await readEmail(ctx, id)).status).toBe('SKIPPED')
  },
)

test('a complaint at a list that is being deleted blocks no email after a return', async () => {
  const { list, other, ada } = await createTestSubscriber(ctx)
  await suppress(ctx, [{ email, reason: 'COMPLAINED', source: 'MAIL_EVENT' }], { emitsEvents: true })
  await deleteList(ctx, other.id)
  await subscribe(ctx, list.id, { email, firstName: '', lastName: '' })
  await confirmSubscription(ctx, await readMailedToken(ctx, email))
  expect(await findEmailBlocks(ctx, [ada])).toEqual(new Map())
})

test('a bounce whose suppression is lost blocks no email after a return', async () => {
  const { list, other, ada } = await createTestSubscriber(ctx)
  await suppress(ctx, [{ email, reason: 'BOUNCED', source: 'MAIL_EVENT' }], { emitsEvents: true })
  await database.db.delete(suppressions).where(eq(suppressions.workspaceId, ctx.workspaceId))
  await subscribe(ctx, list.id, { email, firstName: '', lastName: '' })
  expect(await findEmailBlocks(ctx, [ada])).toEqual(new Map([[ada.id, 'BOUNCED']]))
  await confirmSubscription(ctx, await readMailedToken(ctx, email))
  expect(await readStatusesOn(ctx, [list, other], ada)).toEqual(['CONFIRMED', 'BOUNCED'])
  expect(await findEmailBlocks(ctx, [ada])).toEqual(new Map())
})
