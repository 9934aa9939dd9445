/** What a person says while imports write the same addresses, and while they say it twice. */
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { createTestList, createTestWorker, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { readStats } from '../../campaigns/campaign-stats.ts'
import { preferencesUrl } from '../../consent/preferences-links.ts'
import { findContactByEmail } from '../../contacts/find-contact.ts'
import { suppressions } from '../../db/schema/index.ts'
import { type ContactId, newId } from '../../kernel/ids.ts'
import { readSubscriber } from '../../lists/subscribers.ts'
import { unsubscribeUrl } from '../../lists/subscription-links.ts'
import type { Ctx } from '../../request/context.ts'
import { unsubscribe } from '../contacts/unsubscribe.ts'
import { stopAllMail } from './change-preferences.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const tokenOf = (url: string) => new URL(url).searchParams.get('token') ?? ''
const stopAll = (of: Ctx, person: { contactId: ContactId; email: string }) =>
  stopAllMail(of, tokenOf(preferencesUrl(ctx, person)))
const importInto = (of: Ctx, listId: string, emails: readonly string[]) =>
  runTestImport(of, `email,status\n${emails.map((email) => `${email},CONFIRMED\n`).join('')}`, { listId })

/** The contact of the link is gone: only its address is known. */
const person = { contactId: newId('con'), email: 'ada@example.com' }
const orders: Record<string, (first: (of: Ctx) => Promise<unknown>, second: (of: Ctx) => Promise<unknown>) => unknown> =
  {
    async 'before the opt-out'(importing, stopping) {
      const open = await openTransaction(ctx.db, (db) => importing({ ...ctx, db }))
      const stopped = stopping(ctx)
      await waitUntilBlocked(database.db)
      await Promise.all([open.commit(), stopped])
    },
    async 'after the opt-out'(importing, stopping) {
      const open = await openTransaction(ctx.db, (db) => stopping({ ...ctx, db }))
      const imported = importing(ctx)
      await waitUntilBlocked(database.db)
      await Promise.all([open.commit(), imported])
    },
  }

test.each(Object.entries(orders))('a contact that an import creates %s of all is never CONFIRMED', async (_, run) => {
  const list = await createTestList(ctx)
  await run(
    (of) => importInto(of, list.id, [person.email]),
    (of) => stopAll(of, person),
  )
  const contact = await findContactByEmail(ctx, person.email)
  expect(contact).toMatchObject({ emailSubscribedStatus: 'UNSUBSCRIBED' })
  const reading = readSubscriber(ctx, list.id, contact?.id ?? newId('con'))
  expect((await reading.catch(() => ({ status: 'none' }))).status).not.toBe('CONFIRMED')
})

test('two clicks at once are one statement, one event and one count', async () => {
  const { id: campaignId, listId, batches } = await startTestCampaign(ctx, 2)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const { recipients } = await sendTestBatch(ctx, batch)
  const [{ id: contactId, email } = person as never] = recipients
  const token = tokenOf(unsubscribeUrl(ctx, { campaignId, contactId, email, listId: listId ?? newId('lst') }))
  await Promise.all([unsubscribe(ctx, token), unsubscribe(ctx, token)])
  expect(await ctx.db.$count(suppressions, eq(suppressions.workspaceId, ctx.workspaceId))).toBe(1)
  expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.unsubscribed')).toHaveLength(1)
  expect(await readStats(ctx, campaignId)).toMatchObject({ unsubscribed: 1 })
})
