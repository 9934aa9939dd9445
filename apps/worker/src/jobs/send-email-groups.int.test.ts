import { findUnpublishedEmails } from '@rapport/core/emails/claim-emails.ts'
import { createEmailBatch } from '@rapport/core/emails/create-email-batch.ts'
import { readEmail } from '@rapport/core/emails/emails.ts'
import { type EmailId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { findPublishableWork, markPublished } from '@rapport/core/work/publish.ts'
import { resumeWorkspace, suspendWorkspace } from '@rapport/core/workspaces/suspension.ts'
import { createSuppression } from '@rapport/core/suppressions/suppressions.ts'
import { createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { listEventTypes, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { beforeEach, expect, test, vi } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { sendEmail } from './send-mail.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))
let before: number
beforeEach(() => {
  smtp.decide(() => 'accept')
  before = smtp.mails.length
})

const listRecipients = () => smtp.mails.slice(before).flatMap(({ to }) => to)

async function send(id: EmailId | undefined): Promise<void> {
  if (!id) throw new Error('The email was not accepted')
  await sendEmail(deps, jobOf(ctx, 'EMAIL', uuidOf(id)))
}
const addressOf = (n: number) => `person-${n}@example.com`

/** Accepts emails that no process publishes. */
async function acceptEmails(count: number): Promise<EmailId[]> {
  const { id: templateId } = await createTestTemplate(ctx)
  const emails = Array.from({ length: count }, (_, n) => ({
    templateId,
    to: { email: addressOf(n) },
    data: { resetUrl: 'https://shop.example/reset/x' },
  }))
  const { results } = await createEmailBatch(ctx, { emails })
  return results.flatMap((result) => (result.status === 'ACCEPTED' ? [result.email.id] : []))
}

const readStatuses = async (ids: readonly EmailId[]) =>
  await Promise.all(ids.map(async (id) => (await readEmail(ctx, id)).status))

test('a job takes along the emails that no process has published, each once', async () => {
  const ids = await acceptEmails(35)
  await Promise.all([send(ids[3]), send(ids[4])])
  expect(listRecipients().toSorted()).toEqual(Array.from({ length: 35 }, (_, n) => addressOf(n)).toSorted())
  expect(new Set(await readStatuses(ids))).toEqual(new Set(['SENT']))
  expect(await listPendingWork(ctx)).toEqual([])
  expect((await listEventTypes(ctx)).filter((type) => type === 'email.sent')).toHaveLength(35)
})

test('each email of a group has its own outcome', async () => {
  const ids = await acceptEmails(5)
  await createSuppression(ctx, { email: addressOf(3), reason: 'MANUAL' })
  smtp.decide((to) => {
    if (to === addressOf(1)) return { refusal: '550 5.1.1 No such user' }
    if (to === addressOf(2)) return 450
    return to === addressOf(4) ? 'disconnect after data' : 'accept'
  })
  await send(ids[0])
  expect(await readStatuses(ids)).toEqual(['SENT', 'FAILED', 'PENDING', 'SKIPPED', 'INTERRUPTED'])
  expect(listRecipients().filter((to) => to === addressOf(3))).toEqual([])
  expect(await listPendingWork(ctx)).toHaveLength(1)
})

test('after ten groups a job leaves the rest to others', async () => {
  const ids = await acceptEmails(50)
  await send(ids[0])
  expect(listRecipients()).toHaveLength(46)
  expect(new Set(await readStatuses(ids.slice(46)))).toEqual(new Set(['PENDING']))
})

const findPublishable = async () =>
  (await findPublishableWork(database.db)).filter(({ workspaceId }) => workspaceId === ctx.workspaceId)

test('retries that are due, and a new email after them, need one poll and one job', async () => {
  const ids = await acceptEmails(40)
  smtp.decide(() => 450)
  await send(ids[0])
  expect(await findPublishable()).toEqual([])
  expect(await findUnpublishedEmails(ctx, { limit: 100, offset: 0 })).toEqual([])
  smtp.decide(() => 'accept')
  await database.pool.query('update work set due_at = now() where due_at > now()')
  ids.push(...(await acceptEmails(1)))
  expect(await findPublishable()).toHaveLength(5)
  await send(ids[0])
  expect(new Set(await readStatuses(ids))).toEqual(new Set(['SENT']))
})

test('a job in a suspended workspace ends after its own email', async () => {
  const ids = await acceptEmails(60)
  await suspendWorkspace(ctx)
  const waitForSingles = vi.spyOn(deps.mailRateLimiter, 'waitForSingles')
  await send(ids[0])
  expect(waitForSingles.mock.calls).toEqual([[1]])
  await resumeWorkspace(ctx)
  await send(ids[0])
  await send(ids[59])
  expect(new Set(await readStatuses(ids))).toEqual(new Set(['SENT']))
})

/** Holds all mails until the returned function is called. */
function holdMails(): () => void {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const sendNow = deps.mail.send.bind(deps.mail)
  vi.spyOn(deps.mail, 'send').mockImplementation(async (...mail) => {
    await opened
    return sendNow(...mail)
  })
  return open
}

const markAllPublished = (ids: readonly EmailId[]) =>
  markPublished(
    database.db,
    ids.map((id) => ({ workspaceId: ctx.workspaceId, id: uuidOf(id) })),
  )

test('jobs beyond the share of a workspace end, and their emails go with the others', async () => {
  const ids = await acceptEmails(12)
  const open = holdMails()
  const running = ids.slice(0, 5).map(send)
  await Promise.all(ids.slice(5, 10).map(send))
  // The poll may do so after their jobs have begun.
  await markAllPublished(ids.slice(0, 10))
  expect(listRecipients()).toEqual([])
  open()
  await Promise.all(running)
  expect(new Set(await readStatuses(ids))).toEqual(new Set(['SENT']))
})

test('an email that was left to jobs that stop is published by the next poll', async () => {
  const ids = await acceptEmails(6)
  const open = holdMails()
  const running = ids.slice(0, 5).map(send)
  await send(ids[5])
  await markAllPublished(ids)
  deps.stop()
  open()
  await Promise.all(running)
  const [left] = ids.slice(5)
  expect((await findPublishable()).map(({ id }) => id)).toEqual(left && [uuidOf(left)])
})
