/** Transactions that concern the same mails of visitors take their locks in one order, or skip what is locked. */
import { createTestList, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { queueTestImport, runQueuedImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { askVisitors, listVisitorMails } from '@rapport/testing/consent/visitor-mails.ts'
import { openImpatient, openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { and, eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { findContactByEmail } from '../../contacts/find-contact.ts'
import { lockContact } from '../../contacts/lock-contact.ts'
import { mails, visitorMails } from '../../db/schema/index.ts'
import { transaction } from '../../db/transaction.ts'
import { newId } from '../../kernel/ids.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'
import type { List } from '../../lists/lists.schema.ts'
import { lockListForUpdate } from '../../lists/lists.ts'
import { deleteContact } from '../../operations/contacts/delete-contact.ts'
import { byId } from '../../request/by-id.ts'
import { setQuotas } from '../../workspaces/set-quotas.ts'
import { releaseVisitorMails } from './release-visitor-mails.ts'
import { refundRelease } from './visitor-mails.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
beforeEach(async () => {
  await setQuotas(ctx, { confirmations: 1 })
  list = await createTestList(ctx)
})

const isTo = (email: string) => and(eq(mails.workspaceId, ctx.workspaceId), eq(mails.toAddress, email))

/** Locks what the budget counts for a mail, as a request that replaces it. */
async function lockMailTo(email: string) {
  const [mail] = await ctx.db.select().from(mails).where(isTo(email))
  const isOfMail = byId(visitorMails, ctx, mail?.id ?? newId('mai'))
  return openTransaction(ctx.db, (db) => db.select().from(visitorMails).where(isOfMail).for('update'))
}

test('a contact is deleted while the outcome of a mail to it is recorded', async () => {
  const [email = ''] = await askVisitors(ctx, list.id, { count: 1 })
  await releaseVisitorMails(ctx)
  const contact = await findContactByEmail(ctx, email)
  const [isLocked, isWaiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const recording = transaction(database.db, async (db) => {
    const [mail] = await db.select().from(mails).where(isTo(email)).for('update')
    isLocked.resolve()
    await isWaiting.promise
    await refundRelease({ ...ctx, db }, mail?.id ?? newId('mai'))
  })
  await isLocked.promise
  const deleting = deleteContact(ctx, contact?.id ?? newId('con'))
  await waitUntilBlocked(database.db)
  isWaiting.resolve()
  await Promise.all([recording, deleting])
  expect(await ctx.db.$count(mails, eq(mails.workspaceId, ctx.workspaceId))).toBe(0)
})

test('mails are withheld without those that another transaction has locked', async () => {
  const [, second = ''] = await askVisitors(ctx, list.id, { count: 3 })
  const locking = await lockMailTo(second)
  expect(await releaseVisitorMails({ ...ctx, db: openImpatient(database) })).toMatchObject({ released: 1, withheld: 1 })
  await locking.commit()
  expect(await listVisitorMails(ctx, 'WAITING')).toEqual([second])
  expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0, withheld: 1 })
})

test('the event about withheld mails waits for none that is locked', async () => {
  const [, oldest = ''] = await askVisitors(ctx, list.id, { count: 3 })
  expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 1, withheld: 2 })
  const locking = await lockMailTo(oldest)
  const now = timestampAt(Date.now() + 2 * 60 * 60_000)
  await releaseVisitorMails({ ...ctx, db: openImpatient(database) }, { now })
  await locking.commit()
  expect((await listEventTypes(ctx)).filter((type) => type === 'confirmations.withheld')).toHaveLength(2)
})

test('an import waits for its list before it locks a contact', async () => {
  const [email = ''] = await askVisitors(ctx, list.id, { count: 1 })
  const { id: contactId = newId('con') } = (await findContactByEmail(ctx, email)) ?? {}
  const { id } = await queueTestImport(ctx, `email,firstName\n${email},Ada\n`, {
    listId: list.id,
    onConflict: 'update',
  })
  const changing = await openTransaction(ctx.db, (db) => lockListForUpdate({ ...ctx, db }, list.id))
  const importing = runQueuedImport(ctx, id)
  await waitUntilBlocked(database.db)
  await transaction(openImpatient(database), (db) => lockContact({ ...ctx, db }, contactId))
  await changing.commit()
  await importing
})
