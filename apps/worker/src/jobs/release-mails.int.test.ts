import { type ContactId, idOf, type ListId, newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { storeTrackingRequest } from '@rapport/core/consent/tracking/grant-tracking.ts'
import { findContactByEmail } from '@rapport/core/contacts/find-contact.ts'
import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import { addSubscriber, removeSubscriber } from '@rapport/core/lists/subscribers.ts'
import { recordMailOutcome } from '@rapport/core/mail/mails.ts'
import { requestConfirmationMail } from '@rapport/core/mail/request-confirmation-mail.ts'
import { publicContext } from '@rapport/core/request/context.ts'
import { releaseVisitorMails } from '@rapport/core/mail/budget/release-visitor-mails.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { mergeContacts } from '@rapport/core/operations/contacts/merge-contacts.ts'
import { optOutContact } from '@rapport/core/operations/contacts/opt-out-contact.ts'
import { readUsage } from '@rapport/core/operations/overviews/workspace-usage.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { createSuppression } from '@rapport/core/suppressions/suppressions.ts'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { claimTestMail } from '@rapport/testing/fixtures/claims.ts'
import {
  createTestContact,
  createTestList,
  createTestWorker,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import {
  askVisitors,
  backdateVisitorMails,
  listVisitorMails,
  useMailedLink,
} from '@rapport/testing/consent/visitor-mails.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { sendMail } from './send-mail.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))
let before: number
let listId: ListId
beforeEach(async () => {
  smtp.decide(() => 'accept')
  before = smtp.mails.length
  await setQuotas(ctx, { confirmations: 1 })
  listId = (await createTestList(ctx)).id
})

const received = () => smtp.mails.slice(before).flatMap(({ to }) => to)
const countUse = async () => (await readUsage(ctx)).confirmations.used
async function sendReleased(): Promise<void> {
  for (const uuid of await listPendingWork(ctx, 'mail')) await sendMail(deps, jobOf(ctx, 'MAIL', uuid))
}

/** Counts rows of the workspace. */
async function count(table: 'mails' | 'visitor_mails' | 'mail_requests', condition = 'true'): Promise<number> {
  const query = `select from ${table} where workspace_id = $1 and ${condition}`
  return (await database.pool.query(query, [uuidOf(ctx.workspaceId)])).rows.length
}

const ada = 'ada-1@example.com'
/** Someone whose mail waits, while the budget is used up by `visitor-1`. */
async function withhold(): Promise<ContactId> {
  await askVisitors(ctx, listId, { count: 1 })
  await releaseVisitorMails(ctx)
  await sendReleased()
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0, withheld: 1 })
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from contacts where workspace_id = $1 and email = $2',
    [uuidOf(ctx.workspaceId), ada],
  )
  return idOf('con', rows[0]?.id ?? '')
}

describe('a mail that waits is asked again: none goes to a contact who meanwhile', () => {
  const changes: Record<string, (id: ContactId) => Promise<unknown>> = {
    'was confirmed': (contactId) => addSubscriber(ctx, listId, { contactId, status: 'CONFIRMED' }),
    'opted out': (id) => optOutContact(ctx, id, {}),
    'opted out of the list': (id) => optOutContact(ctx, id, { listId }),
    bounced: () => createSuppression(ctx, { email: ada, reason: 'BOUNCED' }),
    'was blocked': () => createSuppression(ctx, { email: ada, reason: 'MANUAL' }),
    'was erased': (id) => deleteContact(ctx, id),
    'was merged': async (contactId) => mergeContacts(ctx, (await createTestContact(ctx)).id, { contactId }),
    'has another address': (id) => updateContact(ctx, id, { email: 'ada@example.org' }),
    'was taken off the list': (id) => removeSubscriber(ctx, listId, id),
  }

  test.each(Object.entries(changes))('%s', async (_name, change) => {
    const id = await withhold()
    await change(id)
    await useMailedLink(ctx, 'visitor-1@example.com')
    await releaseVisitorMails(ctx)
    await sendReleased()
    expect(received()).toEqual(['visitor-1@example.com'])
    expect(await listPendingWork(ctx, 'mail')).toEqual([])
    // What was not sent is not counted.
    expect(await countUse()).toBe(1)
    expect(await count('mails', `status = 'PENDING'`)).toBe(0)
  })
})

test('a mail that waits is sent once, and its link confirms', async () => {
  await withhold()
  await useMailedLink(ctx, 'visitor-1@example.com')
  await releaseVisitorMails(ctx)
  await sendReleased()
  await releaseVisitorMails(ctx)
  await sendReleased()
  expect(received()).toEqual(['visitor-1@example.com', ada])
  await useMailedLink(ctx, ada)
})

test('someone who leaves and asks again while the mail waits is sent the later one', async () => {
  const id = await withhold()
  await optOutContact(ctx, id, {})
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  expect(await listVisitorMails(ctx, 'WITHHELD')).toEqual([ada])
  await useMailedLink(ctx, 'visitor-1@example.com')
  await releaseVisitorMails(ctx)
  await sendReleased()
  expect(received()).toEqual(['visitor-1@example.com', ada])
  await useMailedLink(ctx, ada)
})

test('someone who leaves and asks again after the unsent mail was released is sent one', async () => {
  const id = await withhold()
  await optOutContact(ctx, id, {})
  await useMailedLink(ctx, 'visitor-1@example.com')
  await releaseVisitorMails(ctx)
  await sendReleased()
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  await releaseVisitorMails(ctx)
  await sendReleased()
  expect(received()).toEqual(['visitor-1@example.com', ada])
})

test('someone whose mail was sent late, and who asks again at once, is sent one mail', async () => {
  await withhold()
  await backdateVisitorMails(ctx, 1)
  await useMailedLink(ctx, 'visitor-1@example.com')
  await releaseVisitorMails(ctx)
  await sendReleased()
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  await releaseVisitorMails(ctx)
  await sendReleased()
  expect(received()).toEqual(['visitor-1@example.com', ada])
  await backdateVisitorMails(ctx, 1)
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  expect(await listVisitorMails(ctx, 'WAITING')).toEqual([ada])
})

test('someone who asks three times while a mail waits is counted and sent one', async () => {
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  expect([await count('mail_requests'), await count('mails')]).toEqual([1, 1])
  await releaseVisitorMails(ctx)
  await sendReleased()
  expect(received()).toEqual([ada])
  await useMailedLink(ctx, ada)
})

test('someone who leaves while a mail is repeated and asks again gets the later one', async () => {
  await setQuotas(ctx, { confirmations: 2 })
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  await releaseVisitorMails(ctx)
  smtp.decide(() => 450)
  await expect(sendReleased()).rejects.toThrow('450')
  await optOutContact(ctx, (await findContactByEmail(ctx, ada))?.id ?? newId('con'), {})
  smtp.decide(() => 'accept')
  await askVisitors(ctx, listId, { count: 1, name: 'ada' })
  await releaseVisitorMails(ctx)
  await sendReleased()
  expect(received()).toEqual([ada])
  await useMailedLink(ctx, ada)
})

test('someone who is confirmed while a mail waits is still asked to grant tracking', async () => {
  const contactId = await withhold()
  const contact = { id: contactId, email: ada }
  await storeTrackingRequest(ctx, contact, { method: 'FORM', opens: true, clicks: false })
  const mail = { kind: 'CONFIRMATION', email: ada, listId, contactId } as const
  await requestConfirmationMail(publicContext(ctx, ctx.workspaceId), { ...mail, tracking: ['opens'] })
  await addSubscriber(ctx, listId, { contactId, status: 'CONFIRMED' })
  await useMailedLink(ctx, 'visitor-1@example.com')
  await releaseVisitorMails(ctx)
  await sendReleased()
  expect(received()).toEqual(['visitor-1@example.com', ada])
})

test('a mail to a former address does not hold up one to the present address', async () => {
  const [email = ''] = await askVisitors(ctx, listId, { count: 1 })
  await releaseVisitorMails(ctx)
  await sendReleased()
  const contact = await findContactByEmail(ctx, email)
  await updateContact(ctx, contact?.id ?? newId('con'), { email: ada })
  for (let round = 0; round < 2; round++)
    await addSubscriber(ctx, listId, { contactId: contact?.id ?? newId('con'), status: 'PENDING' })
  await sendReleased()
  expect(received()).toEqual([email, ada])
})

test('a mail that may have been sent is counted again before it is repeated', async () => {
  await setQuotas(ctx, { confirmations: 2 })
  await askVisitors(ctx, listId, { count: 3 })
  await releaseVisitorMails(ctx)
  const crashed = await createTestWorker(database.db)
  const [first = '', second = ''] = await listPendingWork(ctx, 'mail')
  await claimTestMail(ctx, first, crashed)
  await expireWorkerHeartbeat(database.db, crashed)
  await recoverOrphanedClaims(database.db)
  expect(await listPendingWork(ctx, 'mail')).toEqual([second])
  expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0, withheld: 1 })
  await sendReleased()
  await setQuotas(ctx, { confirmations: 3 })
  expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 1 })
  await sendReleased()
  expect(received().toSorted()).toEqual(['visitor-1@example.com', 'visitor-2@example.com'])
  expect(await countUse()).toBe(3)
})

test('a lost response of the mail server is counted as a mail', async () => {
  smtp.decide(() => 'disconnect after data')
  await askVisitors(ctx, listId, { count: 1 })
  await releaseVisitorMails(ctx)
  await sendReleased()
  expect(received()).toHaveLength(1)
  expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0, withheld: 1 })
  expect(await count('visitor_mails')).toBe(1)
})

test('an outcome that arrives after recovery is recorded, and the mail not repeated', async () => {
  await askVisitors(ctx, listId, { count: 1 })
  await releaseVisitorMails(ctx)
  const frozen = await createTestWorker(database.db)
  const mail = await claimTestMail(ctx, (await listPendingWork(ctx, 'mail'))[0] ?? '', frozen)
  await expireWorkerHeartbeat(database.db, frozen)
  await recoverOrphanedClaims(database.db)
  if (!mail) throw new Error('The mail was not claimed')
  expect(await recordMailOutcome(ctx, mail, { kind: 'sent' })).toBe('done')
  await setQuotas(ctx, { confirmations: 9 })
  await releaseVisitorMails(ctx)
  expect(await listPendingWork(ctx, 'mail')).toEqual([])
  expect(await countUse()).toBe(1)
})
