import { createEmailBatch } from '@rapport/core/emails/create-email-batch.ts'
import { EmailQuery } from '@rapport/core/emails/emails.schema.ts'
import { listEmails, readEmail } from '@rapport/core/emails/emails.ts'
import { recordEmailOutcomes } from '@rapport/core/emails/record-emails.ts'
import { deleteTemplate, readTemplate, updateTemplate } from '@rapport/core/emails/templates/templates.ts'
import { type EmailId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { reportMailEvent } from '@rapport/core/operations/mail/mail-events.ts'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { resumeWorkspace, suspendWorkspace } from '@rapport/core/workspaces/suspension.ts'
import { claimTestEmail, createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { listEventTypes, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { addVerifiedDomain } from '@rapport/testing/network/sending-domains.ts'
import { expect, test } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { startRefusingSmtp } from '../../test/refusing-smtp.ts'
import { purgeExpired } from './purge-expired.ts'
import { sendEmail } from './send-mail.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))

const send = (id: EmailId) => sendEmail(deps, jobOf(ctx, 'EMAIL', uuidOf(id)))

test('complaints pause one template and no other; a user activates it again', async () => {
  const [template, other] = [await createTestTemplate(ctx), await createTestTemplate(ctx)]
  const sent = []
  for (let n = 1; n <= 4; n++) {
    const email = await createTestEmail(ctx, template.id, { to: { email: `person-${n}@example.com` } })
    await send(email.id)
    sent.push(email.id)
  }
  const waiting = await createTestEmail(ctx, template.id, { to: { email: 'waiting@example.com' } })
  for (const id of sent.slice(0, 3)) await complain(id)
  const paused = await readTemplate(ctx, template.id)
  expect(paused).toMatchObject({ status: 'PAUSED', pauseReason: '3 of the last 4 emails were reported as spam' })
  expect(await readTemplate(ctx, other.id)).toMatchObject({ status: 'ACTIVE' })
  await expect(createTestEmail(ctx, template.id)).rejects.toMatchObject({ code: 'wrong_state' })
  await createTestEmail(ctx, other.id)
  await send(waiting.id)
  expect(await readEmail(ctx, waiting.id)).toMatchObject({ status: 'PENDING' })
  await expect(deleteTemplate(ctx, template.id)).rejects.toMatchObject({ code: 'in_use' })
  await updateTemplate(ctx, template.id, { status: 'ACTIVE' })
  await complain(sent[3])
  await send(waiting.id)
  expect(await readEmail(ctx, waiting.id)).toMatchObject({ status: 'SENT' })
  expect((await listEventTypes(ctx)).filter((type) => type === 'template.paused')).toHaveLength(1)
  expect(await readEmail(ctx, sent[0] ?? waiting.id)).toMatchObject({ complainedAt: expect.any(String) })
})

test('an email is parked whose template paused while it was accepted', async () => {
  const template = await createTestTemplate(ctx)
  const { id } = await createTestEmail(ctx, template.id)
  const readWait = async () =>
    (
      await database.pool.query<{ isParked: boolean }>(`select due_at is null as "isParked" from work where id = $1`, [
        uuidOf(id),
      ])
    ).rows
  await database.pool.query(`update templates set status = 'PAUSED'`)
  await send(id)
  expect(await readWait()).toEqual([{ isParked: true }])
  await updateTemplate(ctx, template.id, { status: 'ACTIVE' })
  expect(await readWait()).toEqual([{ isParked: false }])
  await send(id)
  expect(await readEmail(ctx, id)).toMatchObject({ status: 'SENT' })
})

test('the refusal of the two hundredth address that does not exist pauses its template', async () => {
  const template = await createTestTemplate(ctx)
  const emails = Array.from({ length: 100 }, (_, n) => ({
    templateId: template.id,
    to: { email: `person-${n}@example.com` },
    data: { resetUrl: 'https://shop.example/reset/x' },
  }))
  for (let batch = 0; batch < 2; batch++) await createEmailBatch(ctx, { emails })
  const [last] = (await listEmails(ctx, EmailQuery.parse({ limit: '1' }))).data
  if (!last) throw new Error('no emails')
  await database.pool.query(
    `update emails set status = 'FAILED', bounce_class = 'HARD', ended_at = now() where id <> $1`,
    [uuidOf(last.id)],
  )
  smtp.decide(() => ({ refusal: '550 5.1.1 No such user' }))
  await send(last.id)
  const paused = { status: 'PAUSED', pauseReason: '200 of the last 200 addresses do not exist' }
  expect(await readTemplate(ctx, template.id)).toMatchObject(paused)
  expect(await readEmail(ctx, last.id)).toMatchObject({ status: 'FAILED', bounceClass: 'HARD' })
})

test('an email of a paused template fails at the age of 24 hours, and holds no quota', async () => {
  await setQuotas(ctx, { emailsPending: 2 })
  const [paused, other] = [await createTestTemplate(ctx), await createTestTemplate(ctx)]
  const { id: old } = await createTestEmail(ctx, paused.id, { to: { email: 'old@example.com' } })
  const { id: sending } = await createTestEmail(ctx, paused.id)
  const claimed = await claimTestEmail(ctx, sending, deps.workerId)
  await updateTemplate(ctx, paused.id, { status: 'PAUSED' })
  for (let n = 0; n < 2; n++) await createTestEmail(ctx, other.id)
  await expect(createTestEmail(ctx, other.id)).rejects.toMatchObject({ code: 'quota_exceeded' })
  const readStatus = async (id: EmailId) => (await readEmail(ctx, id)).status
  const setAge = (age: string) =>
    database.pool.query(`update work set created_at = now() - $1::interval where kind = 'EMAIL'`, [age])

  await setAge('23 hours')
  await purgeExpired(deps)
  await setAge('24 hours')
  await suspendWorkspace(ctx)
  await purgeExpired(deps)
  expect(await readStatus(old)).toBe('PENDING')
  await resumeWorkspace(ctx)
  await purgeExpired(deps)
  const reason = 'The email was accepted more than 24 hours ago, and its template is PAUSED'
  expect(await readEmail(ctx, old)).toMatchObject({ status: 'FAILED', reason, endedAt: expect.any(String) })
  const { rows } = await database.pool.query('select sealed_data from emails where id = $1', [uuidOf(old)])
  expect(rows).toEqual([{ sealed_data: null }])
  expect((await listEventTypes(ctx)).filter((type) => type.startsWith('email.'))).toEqual(['email.failed'])
  expect(await listPendingWork(ctx)).not.toContain(uuidOf(old))
  // One that is being sent has the outcome of its attempt.
  expect(await readStatus(sending)).toBe('PENDING')
  if (claimed) await recordEmailOutcomes(ctx, [{ email: claimed, outcome: { kind: 'sent' } }])
  expect(await readStatus(sending)).toBe('SENT')
  await deleteTemplate(ctx, paused.id)
  await expect(deleteTemplate(ctx, other.id)).rejects.toMatchObject({ code: 'in_use' })
})

test('an email fails while its domain is not verified, and the next is sent once it is', async () => {
  const template = await createTestTemplate(ctx, { fromEmail: 'ada@belts.example' })
  const strict = { ...deps, settings: { ...deps.settings, requiresVerifiedDomain: true } }
  const sendStrictly = (id: EmailId) => sendEmail(strict, jobOf(ctx, 'EMAIL', uuidOf(id)))
  const { id } = await createTestEmail(ctx, template.id)
  await sendStrictly(id)
  expect(await readEmail(ctx, id)).toMatchObject({
    status: 'FAILED',
    reason: expect.stringContaining('The domain belts.example is not verified'),
  })
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'email.failed'])
  await addVerifiedDomain(ctx, 'belts.example')
  smtp.decide(() => 'accept')
  const next = await createTestEmail({ ...ctx, settings: strict.settings }, template.id)
  await sendStrictly(next.id)
  expect(await readEmail(ctx, next.id)).toMatchObject({ status: 'SENT' })
})

test.each(['AUTH', 'MAIL'] as const)('an email that is refused at %s waits for the repair', async (refusal) => {
  const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
  const server = await startRefusingSmtp(refusal)
  const refused = await createTestDeps(database.db, { smtpUrl: server.url })
  await sendEmail(refused, jobOf(ctx, 'EMAIL', uuidOf(id)))
  await refused.close()
  await server.close()
  expect(await readEmail(ctx, id)).toMatchObject({ status: 'PENDING', reason: `535 5.7.8 ${refusal} refused` })
  const { values } = await refused.metrics.mails.get()
  expect(values.filter(({ value }) => value > 0)).toEqual([
    { labels: { kind: 'EMAIL', outcome: 'deferred' }, value: 1 },
  ])
  smtp.decide(() => 'accept')
  await send(id)
  expect(await readEmail(ctx, id)).toMatchObject({ status: 'SENT', reason: null })
})

const complain = (id: EmailId | undefined) =>
  reportMailEvent(ctx, {
    type: 'COMPLAINT',
    email: null,
    recipientToken: null,
    messageId: `<${id}@example.com>`,
    providerMessageId: null,
    class: null,
    code: null,
    detail: 'abuse',
  })
