import type { EmailRecord } from '@rapport/core/emails/emails.schema.ts'
import { readEmail } from '@rapport/core/emails/emails.ts'
import { updateTemplate } from '@rapport/core/emails/templates/templates.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { mergeContacts } from '@rapport/core/operations/contacts/merge-contacts.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { optOutContact } from '@rapport/core/operations/contacts/opt-out-contact.ts'
import { idOf, uuidOf, type EmailId } from '@rapport/core/kernel/ids.ts'
import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import { createSuppression } from '@rapport/core/suppressions/suppressions.ts'
import { recordEmailOutcomes } from '@rapport/core/emails/record-emails.ts'
import { createTestContact, listEventTypes, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { claimTestEmail, createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type ReceivedMail, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, jobOf, type TestDeps } from '../../test/fixtures.ts'
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

const received = (): readonly ReceivedMail[] => smtp.mails.slice(before)
const send = (id: EmailId, by: TestDeps = deps) => sendEmail(by, jobOf(ctx, 'EMAIL', uuidOf(id)))

test('an email is sent once, with its footer, and without links that track', async () => {
  const template = await createTestTemplate(ctx)
  const { id } = await createTestEmail(ctx, template.id, { to: { email: 'ada@example.com', firstName: 'Ada' } })
  await send(id)
  await send(id)
  const [mail, ...others] = received()
  expect([mail?.to, others]).toEqual([['ada@example.com'], []])
  expect(mail?.headers).toMatchObject({
    subject: 'Your password, Ada',
    'feedback-id': `${template.id}:${ctx.workspaceId}:email:rapport`,
  })
  expect(mail?.headers).not.toHaveProperty('list-unsubscribe')
  expect(mail?.html).toContain('<a href="https://shop.example/reset/planted-link">')
  expect(mail?.text).toMatch(/because it concerns the security of your account/)
  expect(await readEmail(ctx, id)).toMatchObject({ status: 'SENT', reason: null, endedAt: expect.any(String) })
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'email.sent'])
  expect(await listPendingWork(ctx)).toEqual([])
})

test('the values are sealed while an email waits, and gone from its row afterwards', async () => {
  const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
  const readSealed = async () =>
    (
      await database.pool.query<{ sealed: string | null }>('select sealed_data as sealed from emails where id = $1', [
        uuidOf(id),
      ])
    ).rows[0]?.sealed
  expect(await readSealed()).toMatch(/^[0-9a-f]{8}\./)
  expect(await readSealed()).not.toContain('planted-link')
  await send(id)
  expect(await readSealed()).toBeNull()
})

test('a template that changes while emails wait: they are sent as accepted', async () => {
  const template = await createTestTemplate(ctx)
  const { id } = await createTestEmail(ctx, template.id)
  const changed = await updateTemplate(ctx, template.id, { subject: 'Changed', variables: [], html: '<p>Changed</p>' })
  expect(changed.version).toBe(2)
  await send(id)
  expect(received()[0]?.headers).toMatchObject({ subject: 'Your password, friend' })
  expect(await readEmail(ctx, id)).toMatchObject({ templateVersion: 1 })
  await updateTemplate(ctx, template.id, { subject: 'Again' })
  const versions = await database.pool.query('select from template_versions where template_id = $1', [
    uuidOf(template.id),
  ])
  expect(versions.rowCount).toBe(1)
})

describe('between the call and the claim', () => {
  test('an erased contact gets nothing, and nothing is left of the email', async () => {
    const { id, contactId } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
    await deleteContact(ctx, contactId ?? idOf('con', uuidOf(id)))
    await send(id)
    expect(received()).toEqual([])
    await expect(readEmail(ctx, id)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a suppressed address is skipped, but not one that opted out of newsletters', async () => {
    const template = await createTestTemplate(ctx)
    const { id } = await createTestEmail(ctx, template.id)
    await createSuppression(ctx, { email: 'ada@example.com', reason: 'MANUAL' })
    await send(id)
    expect(await readEmail(ctx, id)).toMatchObject({ status: 'SKIPPED', reason: 'The address is suppressed (MANUAL)' })
    const other = await createTestEmail(ctx, template.id, { to: { email: 'bob@example.com' } })
    await createSuppression(ctx, { email: 'bob@example.com', reason: 'OPTED_OUT' })
    await send(other.id)
    expect(received().map(({ to }) => to)).toEqual([['bob@example.com']])
    expect((await listEventTypes(ctx)).filter((type) => type.startsWith('email.'))).toEqual([
      'email.skipped',
      'email.sent',
    ])
  })

  test('a merged contact gets it at the address that remains, a renamed one at the new', async () => {
    const template = await createTestTemplate(ctx)
    const remaining = await createTestContact(ctx, { email: 'remaining@example.com' })
    const merged = await createTestEmail(ctx, template.id)
    await mergeContacts(ctx, remaining.id, { contactId: merged.contactId ?? remaining.id })
    const renamed = await createTestEmail(ctx, template.id, { to: { email: 'old@example.com' } })
    await updateContact(ctx, renamed.contactId ?? remaining.id, { email: 'new@example.com' })
    await send(merged.id)
    await send(renamed.id)
    expect(received().map(({ to }) => to)).toEqual([['remaining@example.com'], ['new@example.com']])
    expect(await readEmail(ctx, merged.id)).toMatchObject({ status: 'SENT', contactId: remaining.id })
  })
})

describe('an email that waits for a connection is asked again: none goes', () => {
  const contactOf = ({ id, contactId }: EmailRecord) => contactId ?? idOf('con', uuidOf(id))
  test.each<[to: string, happens: (email: EmailRecord) => Promise<unknown>, status: string]>([
    [
      'to an address that was suppressed',
      () => createSuppression(ctx, { email: 'ada@example.com', reason: 'MANUAL' }),
      'SKIPPED',
    ],
    [
      'to an address that the contact left',
      (email) => updateContact(ctx, contactOf(email), { email: 'new@example.com' }),
      'PENDING',
    ],
    ['to a contact that was erased', (email) => deleteContact(ctx, contactOf(email)), 'gone'],
  ])('%s', async (_to, happens, status) => {
    const email = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
    const late: TestDeps['mail']['send'] = async (mail, kind, check) => {
      await happens(email)
      return (await check?.ask()) ?? deps.mail.send(mail, kind)
    }
    await send(email.id, { ...deps, mail: { ...deps.mail, send: late } })
    expect(received()).toEqual([])
    const after = await readEmail(ctx, email.id).catch(() => ({ status: 'gone' }))
    expect(after.status).toBe(status)
  })
})

describe('an attempt', () => {
  const setDue = () => database.pool.query('update work set due_at = now()')

  test('that is refused for now is repeated at most five times, however old it is', async () => {
    const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
    await database.pool.query(`update emails set created_at = now() - interval '25 hours'`)
    smtp.decide(() => 450)
    for (let attempt = 1; attempt <= 5; attempt++) {
      await send(id)
      expect(await readEmail(ctx, id)).toMatchObject({ status: 'PENDING', reason: expect.stringContaining('450') })
      const { rows } = await database.pool.query<{ late: boolean }>(
        'select due_at > now() as late from work where id = $1',
        [uuidOf(id)],
      )
      expect(rows).toEqual([{ late: true }])
      await setDue()
    }
    await send(id)
    expect(await readEmail(ctx, id)).toMatchObject({ status: 'FAILED', bounceClass: 'SOFT' })
    expect(await listPendingWork(ctx)).toEqual([])
  })

  test('with an unknown outcome is INTERRUPTED, and never repeated', async () => {
    const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
    smtp.decide(() => 'disconnect after data')
    await send(id)
    await send(id)
    expect(received()).toHaveLength(1)
    expect(await readEmail(ctx, id)).toMatchObject({ status: 'INTERRUPTED' })
  })

  test('of a worker that died is INTERRUPTED, and emits its event', async () => {
    const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
    await claimTestEmail(ctx, id, deps.workerId)
    await database.pool.query('delete from workers')
    expect(await recoverOrphanedClaims(database.db)).toMatchObject({ mails: { EMAIL: 1 }, errors: [] })
    expect(await readEmail(ctx, id)).toMatchObject({ status: 'INTERRUPTED' })
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'email.interrupted'])
  })

  test('that ends in an unknown way after recovery emits one event', async () => {
    const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
    const email = await claimTestEmail(ctx, id, deps.workerId)
    if (!email) throw new Error('The email was not claimed')
    await database.pool.query('delete from workers')
    await recoverOrphanedClaims(database.db)
    const ambiguous = { kind: 'ambiguous', error: 'The connection was lost' } as const
    await recordEmailOutcomes(ctx, [{ email, outcome: ambiguous }])
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'email.interrupted'])
    await recordEmailOutcomes(ctx, [{ email, outcome: { kind: 'sent' } }])
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'email.interrupted', 'email.sent'])
  })

  test('that ends after the deletion of its contact keeps no reason', async () => {
    const { id, contactId } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
    const email = await claimTestEmail(ctx, id, deps.workerId)
    if (!email || !contactId) throw new Error('The email was not claimed')
    await database.pool.query('delete from workers')
    await recoverOrphanedClaims(database.db)
    await deleteContact(ctx, contactId)
    const refused = { kind: 'refused', temporary: false, error: '550 Not ada@example.com' } as const
    await recordEmailOutcomes(ctx, [{ email, outcome: refused }])
    expect(await readEmail(ctx, id)).toMatchObject({ status: 'FAILED', contactId: null, reason: null })
  })

  test('that finds no mailbox suppresses the address and ends the email', async () => {
    const template = await createTestTemplate(ctx)
    const { id } = await createTestEmail(ctx, template.id)
    smtp.decide(() => ({ refusal: '550 5.1.1 No such user' }))
    await send(id)
    expect(await readEmail(ctx, id)).toMatchObject({
      status: 'FAILED',
      bounceClass: 'HARD',
      bouncedAt: expect.any(String),
    })
    await expect(createTestEmail(ctx, template.id)).rejects.toMatchObject({
      code: 'opted_out',
      details: { reason: 'BOUNCED' },
    })
  })
})

test('an opt-out of all newsletters does not stop an email', async () => {
  const template = await createTestTemplate(ctx)
  const contact = await createTestContact(ctx, { email: 'ada@example.com' })
  await optOutContact(ctx, contact.id, {})
  const { id } = await createTestEmail(ctx, template.id)
  await send(id)
  expect(received()).toHaveLength(1)
})
