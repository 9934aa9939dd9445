import { randomUUID } from 'node:crypto'
import { createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestContact } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { expect, onTestFinished, test } from 'vitest'
import { lockContact } from '../contacts/lock-contact.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import { lockQuotas } from '../quotas/require-quota.ts'
import type { Ctx } from '../request/context.ts'
import { setQuotas } from '../workspaces/set-quotas.ts'
import { createEmailBatch } from './create-email-batch.ts'
import { updateTemplate } from './templates/templates.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

/** Starts a batch that waits for a lock. Returns whether it has locked the contact meanwhile. */
async function isLockedMeanwhile(
  id: ContactId,
  { to, lock }: { to: object[]; lock: (ctx: Ctx) => Promise<unknown> },
): Promise<boolean> {
  const { id: templateId } = await createTestTemplate(ctx)
  const locking = await openTransaction(ctx.db, (db) => lock({ ...ctx, db }))
  onTestFinished(() => locking.commit())
  const data = { resetUrl: 'https://shop.example/reset/x' }
  const started = createEmailBatch(ctx, { emails: to.map((one) => ({ templateId, to: one, data })) })
  await waitUntilBlocked(database.db, 1)
  const free = await database.pool.query(
    'select id from contacts where workspace_id = $1 and id = $2 for no key update skip locked',
    [uuidOf(ctx.workspaceId), uuidOf(id)],
  )
  await locking.commit()
  expect((await started).results.map(({ status }) => status)).toEqual(to.map(() => 'ACCEPTED'))
  return free.rows.length === 0
}

test('a batch near a quota waits for it before it locks a contact', async () => {
  await setQuotas(ctx, { emails: 50 })
  const { id } = await createTestContact(ctx)
  expect(await isLockedMeanwhile(id, { to: [{ contactId: id }], lock: lockQuotas })).toBe(false)
})

test('a batch locks its contacts by id, however it names them', async () => {
  const contacts = [await createTestContact(ctx), await createTestContact(ctx)]
  const [first, second] = contacts.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  if (!first || !second) throw new Error('no contacts')
  const to = [{ email: second.email }, { contactId: first.id }]
  expect(await isLockedMeanwhile(second.id, { to, lock: (ctx) => lockContact(ctx, first.id) })).toBe(false)
})

test.each([
  ['far from the quotas', {}],
  ['near the quotas', { emails: 500, emailsPending: 500 }],
])('a batch takes as many statements as a single email: %s', async (_where, quotas) => {
  await setQuotas(ctx, quotas)
  const { id: templateId } = await createTestTemplate(ctx)
  const data = { resetUrl: 'https://shop.example/reset/x' }
  const count = async (emails: number) => {
    const to = Array.from({ length: emails }, () => ({ email: `${randomUUID()}@example.com` }))
    const batch = { emails: to.map((one) => ({ templateId, to: one, data })) }
    const statements = await recordStatements(database, ctx, (ctx) => createEmailBatch(ctx, batch))
    return statements.length
  }
  await count(1)
  expect(await count(100)).toBe(await count(1))
})

test('of a batch, the first emails are accepted up to a quota', async () => {
  const { id: templateId } = await createTestTemplate(ctx)
  await setQuotas(ctx, { emails: 3, emailsPending: 5 })
  const send = async (emails: number) => {
    const data = { resetUrl: 'https://shop.example/reset/x' }
    const to = Array.from({ length: emails }, () => ({ email: `${randomUUID()}@example.com` }))
    const { results } = await createEmailBatch(ctx, { emails: to.map((one) => ({ templateId, to: one, data })) })
    return results.map((result) =>
      result.status === 'FAILED' ? result.message.replace(/.* at most /, '') : 'ACCEPTED',
    )
  }
  expect(await send(2)).toEqual(['ACCEPTED', 'ACCEPTED'])
  expect(await send(3)).toEqual(['ACCEPTED', ...Array(2).fill('3 emails from templates in 24 hours')])
  await setQuotas(ctx, { emails: 9, emailsPending: 5 })
  expect(await send(3)).toEqual(['ACCEPTED', 'ACCEPTED', '5 emails that are not sent yet'])
})

test('a batch during a change of its template is accepted with the new version', async () => {
  const { id: templateId } = await createTestTemplate(ctx)
  const changing = await openTransaction(ctx.db, (db) => updateTemplate({ ...ctx, db }, templateId, { subject: 'New' }))
  onTestFinished(() => changing.commit())
  const to = { email: 'ada@example.com' }
  const data = { resetUrl: 'https://shop.example/reset/x' }
  const started = createEmailBatch(ctx, { emails: [{ templateId, to, data }] })
  await waitUntilBlocked(database.db, 1)
  await changing.commit()
  expect((await started).results).toMatchObject([{ status: 'ACCEPTED', email: { templateVersion: 2 } }])
})
