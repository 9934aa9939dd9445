import { RecipientQuery } from '@rapport/core/campaigns/campaigns.schema.ts'
import { listRecipients } from '@rapport/core/campaigns/list-recipients.ts'
import { claimRecipients, recordRecipientOutcomes } from '@rapport/core/campaigns/sending.ts'
import { type Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import { subscribe } from '@rapport/core/lists/subscribe.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { eraseNextStep } from '@rapport/core/operations/contacts/erase-contact.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { listDeliveries } from '@rapport/core/webhooks/delivery-log.ts'
import { saveWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { claimTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestContact,
  createTestList,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
  listPendingWork,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { asEnded, claimTestDrain, recordTestOutcomes } from '@rapport/testing/fixtures/webhook-drain.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import { createTestDeps, drain, jobOf } from '../../test/fixtures.ts'
import { eraseContact } from './clear-deleted.ts'
import { sendMail } from './send-mail.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const receiver = useForFile(() => startHttpReceiver(({ body }) => ({ body: `received ${body.toString()}` })))
const deps = useForTest(() => createTestDeps(database.db))

const erase = (contact: Contact) => eraseContact(deps, jobOf(ctx, 'ERASE_CONTACT', uuidOf(contact.id)))
const createEcho = () => createTestWebhook(ctx, { url: `${receiver.url}/hook`, eventTypes: ['*'] })

/** Recovers the claims of a worker that is out of reach, but keeps its outcomes to record them later. */
async function recoverClaimsOf(workerId: string): Promise<void> {
  await expireWorkerHeartbeat(database.db, workerId)
  await recoverOrphanedClaims(database.db)
}

const countRedacted = async () => {
  const { rows } = await database.pool.query<{ type: string; redacted: boolean }>(
    `select type, data ->> 'redacted' is not null as redacted from events where workspace_id = $1`,
    [uuidOf(ctx.workspaceId)],
  )
  return { redacted: rows.filter(({ redacted }) => redacted).length, all: rows.length }
}

test('a new contact with the same address is not touched', async () => {
  const webhook = await createEcho()
  const old = await createTestContact(ctx, { email: 'ada@example.com' })
  await deleteContact(ctx, old.id)
  const list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email: 'ada@example.com', firstName: 'Ada', lastName: '' })
  await reportByClient(ctx, { type: 'BOUNCE', email: 'ada@example.com', permanent: false })
  await drain(deps, ctx)
  await erase(old)
  expect(await countRedacted()).toEqual({ redacted: 1, all: 5 })
  const { data } = await listDeliveries(ctx, webhook.id, { limit: 50, sort: '-createdAt' })
  expect(data.map(({ eventType, responseBody }) => [eventType, responseBody === null]).toReversed()).toEqual([
    ['contact.created', true],
    ['contact.deleted', true],
    ['contact.created', false],
    ['subscription.created', false],
    ['mail.bounced', false],
  ])
  expect(await readMailedToken(ctx, 'ada@example.com')).toMatch(/^[\w-]{100,}$/)
})

test('a pending confirmation is canceled', async () => {
  const list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email: 'ada@example.com', firstName: '', lastName: '' })
  const find = async (table: string) =>
    (
      await database.pool.query<{ id: string }>(`select id from ${table} where workspace_id = $1`, [
        uuidOf(ctx.workspaceId),
      ])
    ).rows
  const [[contact], [mail]] = [await find('contacts'), await find('mails')]
  expect(await listPendingWork(ctx, 'mail')).toEqual([mail?.id])
  await deleteContact(ctx, idOf('con', contact?.id ?? ''))
  await eraseContact(deps, jobOf(ctx, 'ERASE_CONTACT', contact?.id ?? ''))
  expect([await find('mails'), await listPendingWork(ctx)]).toEqual([[], []])
  await sendMail(deps, jobOf(ctx, 'MAIL', mail?.id ?? ''))
})

test('pending deliveries send the redacted record', async () => {
  await createEcho()
  const ada = await createTestContact(ctx, { email: 'ada@example.com' })
  await deleteContact(ctx, ada.id)
  await erase(ada)
  const before = receiver.requests.length
  await drain(deps, ctx)
  const bodies = receiver.requests.slice(before).map(({ body }) => JSON.parse(body.toString()) as object)
  expect(bodies).toMatchObject([
    { type: 'contact.created', data: { id: ada.id, redacted: true } },
    { type: 'contact.deleted', data: { id: ada.id } },
  ])
})

test('waits for requests that were sent before the deletion', async () => {
  const { id } = await createEcho()
  const ada = await createTestContact(ctx, { email: 'ada@example.com' })
  const { claim, take } = await claimTestDrain(ctx, { workerId: deps.workerId, limit: 1 })
  await deleteContact(ctx, ada.id)
  await erase(ada)
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(ada.id)])
  const ended = asEnded(take?.deliveries ?? [], { responseBody: ada.email })
  expect(ended).toHaveLength(1)
  await recordTestOutcomes(ctx, claim, { ended })
  await erase(ada)
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
  expect((await listDeliveries(ctx, id, { limit: 50, sort: '-createdAt' })).data).toMatchObject([
    { status: 'PENDING' },
    { status: 'SUCCEEDED', responseBody: null },
  ])
})

test('waits for a request whose take read the event before it was redacted', async () => {
  const { id } = await createEcho()
  const ada = await createTestContact(ctx, { email: 'ada@example.com' })
  const changing = await openTransaction(database.db, (db) =>
    saveWebhook({ ...ctx, db }, id, { change: { eventTypes: ['*'] }, checkFilter: async () => {} }),
  )
  const taking = claimTestDrain(ctx, { workerId: deps.workerId, limit: 1 })
  await waitUntilBlocked(database.db)
  await deleteContact(ctx, ada.id)
  const erasing = erase(ada)
  await waitUntilBlocked(database.db, 2)
  await changing.commit()
  const { claim, take } = await taking
  await erasing
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(ada.id)])
  await recordTestOutcomes(ctx, claim, {
    ended: asEnded(take?.deliveries ?? [], { responseBody: take?.deliveries[0]?.body ?? '' }),
  })
  await erase(ada)
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
  expect((await listDeliveries(ctx, id, { limit: 50, sort: '-createdAt' })).data).toMatchObject([
    { status: 'PENDING' },
    { status: 'SUCCEEDED', responseBody: null },
  ])
})

test('waits for an email that is being sent', async () => {
  const { id, batches } = await startTestCampaign(ctx, 2)
  const batch = await claimTestBatch(ctx, batches[0], deps.workerId)
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids)
  const [ada, grace] = recipients.map((recipient) => recipient.id)
  if (!ada || !grace) throw new Error('There are no recipients')
  await deleteContact(ctx, ada)
  await eraseContact(deps, jobOf(ctx, 'ERASE_CONTACT', uuidOf(ada)))
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(ada)])
  const outcome = { status: 'FAILED', error: '550 recipient is refused' } as const
  await recordRecipientOutcomes(
    ctx,
    batch,
    [ada, grace].map((contactId) => ({ contactId, ...outcome })),
  )
  await eraseContact(deps, jobOf(ctx, 'ERASE_CONTACT', uuidOf(ada)))
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
  const { data } = await listRecipients(ctx, id, RecipientQuery.parse({}))
  expect(Object.fromEntries(data.map(({ contactId, error }) => [contactId, error]))).toEqual({
    [ada]: 'Redacted: the contact was deleted',
    [grace]: outcome.error,
  })
})

test('a response that is recorded after the erasure is not kept', async () => {
  const { id } = await createEcho()
  const ada = await createTestContact(ctx, { email: 'ada@example.com' })
  const late = await createTestWorker(database.db)
  const { claim, take } = await claimTestDrain(ctx, { workerId: late, limit: 1 })
  await recoverClaimsOf(late)
  await deleteContact(ctx, ada.id)
  await erase(ada)
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
  const outcome = { status: 'FAILED', responseBody: ada.email, error: `Not ${ada.email}` } as const
  await recordTestOutcomes(ctx, claim, { ended: asEnded(take?.deliveries ?? [], outcome) })
  expect((await listDeliveries(ctx, id, { limit: 50, sort: '-createdAt' })).data).toMatchObject([
    { status: 'PENDING' },
    { status: 'FAILED', responseBody: null, error: 'Redacted: the contact was deleted' },
  ])
})

test('an error of a recipient that is recorded after the erasure is not kept', async () => {
  const { id, batches } = await startTestCampaign(ctx, 2)
  const late = await createTestWorker(database.db)
  const batch = await claimTestBatch(ctx, batches[0], late)
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids)
  const [ada, grace] = recipients.map((recipient) => recipient.id)
  if (!ada || !grace) throw new Error('There are no recipients')
  await recoverClaimsOf(late)
  await deleteContact(ctx, ada)
  await eraseContact(deps, jobOf(ctx, 'ERASE_CONTACT', uuidOf(ada)))
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
  const outcome = { status: 'FAILED', error: '550 recipient is refused' } as const
  await recordRecipientOutcomes(
    ctx,
    batch,
    [ada, grace].map((contactId) => ({ contactId, ...outcome })),
  )
  const { data } = await listRecipients(ctx, id, RecipientQuery.parse({}))
  expect(Object.fromEntries(data.map(({ contactId, status, error }) => [contactId, [status, error]]))).toEqual({
    [ada]: ['FAILED', 'Redacted: the contact was deleted'],
    [grace]: ['FAILED', outcome.error],
  })
})

test('many events are redacted in short steps, also by two concurrent jobs', async () => {
  const ada = await createTestContact(ctx, { email: 'ada@example.com' })
  await database.pool.query(
    `insert into events (workspace_id, id, type, data, contact_id)
     select $1, uuidv7(), 'contact.updated', '{"id": "con_1", "email": "ada@example.com"}', $2 from generate_series(1, 5000)`,
    [uuidOf(ctx.workspaceId), uuidOf(ada.id)],
  )
  await deleteContact(ctx, ada.id)
  expect(await eraseNextStep(ctx, uuidOf(ada.id))).toBe('continue')
  expect(await countRedacted()).toEqual({ redacted: 500, all: 5_002 })
  await eraseContact({ ...deps, stopping: AbortSignal.abort() }, jobOf(ctx, 'ERASE_CONTACT', uuidOf(ada.id)))
  expect(await countRedacted()).toEqual({ redacted: 1_000, all: 5_002 })
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(ada.id)])
  await Promise.all([erase(ada), erase(ada)])
  expect(await countRedacted()).toEqual({ redacted: 5_001, all: 5_002 })
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
})
