import { emails } from '@rapport/core/db/schema/index.ts'
import { createEmail } from '@rapport/core/emails/create-email.ts'
import type { EmailInput, EmailRecord } from '@rapport/core/emails/emails.schema.ts'
import { type ClaimedEmail, claimEmails } from '@rapport/core/emails/claim-emails.ts'
import { type EmailOutcome, recordEmailOutcomes } from '@rapport/core/emails/record-emails.ts'
import type { Template, TemplateInput } from '@rapport/core/emails/templates/templates.schema.ts'
import { createTemplate } from '@rapport/core/emails/templates/templates.ts'
import { type ContactId, type TemplateId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { prepareClaim } from '@rapport/core/work/claims.ts'
import { and, eq, ne } from 'drizzle-orm'
import { createTestWorker } from '../fixtures/factories.ts'
import { reportByClient } from '../fixtures/mail-reports.ts'

/** Creates a template with a link to reset a password, unless `input` says otherwise. */
export function createTestTemplate(ctx: Ctx, input: Partial<TemplateInput> = {}): Promise<Template> {
  return createTemplate(ctx, {
    name: 'Reset',
    subject: 'Your password, {{ contact.firstName | default: "friend" }}',
    html: '<p>Open <a href="{{ data.resetUrl }}">this link</a>.</p>',
    variables: [{ name: 'resetUrl', type: 'URL', required: true, example: 'https://shop.example/reset/x' }],
    ground: 'SECURITY',
    ...input,
  })
}

/** Accepts an email, to ada@example.com unless `input` says otherwise. */
export function createTestEmail(
  ctx: Ctx,
  templateId: TemplateId,
  input: Partial<EmailInput> = {},
): Promise<EmailRecord> {
  return createEmail(ctx, {
    templateId,
    to: { email: 'ada@example.com' },
    data: { resetUrl: 'https://shop.example/reset/planted-link' },
    tags: [],
    ...input,
  })
}

/** Claims an email for a worker. Returns undefined if that is not possible. */
export async function claimTestEmail(
  ctx: Ctx,
  id: EmailRecord['id'],
  workerId?: string,
): Promise<ClaimedEmail | undefined> {
  const { workspaceId } = ctx
  const by = { workspaceId, workerId: workerId ?? (await createTestWorker(ctx.db)) }
  const [email] = await claimEmails(ctx, [prepareClaim({ ...by, kind: 'EMAIL', id: uuidOf(id) })])
  return email
}

async function claimNewEmail(ctx: Ctx, contactId: ContactId): Promise<ClaimedEmail> {
  const template = await createTestTemplate(ctx)
  const { id } = await createTestEmail(ctx, template.id, { to: { contactId } })
  const email = await claimTestEmail(ctx, id)
  if (!email) throw new Error('The email was not claimed')
  return email
}

/** The outcome that leads to each event. */
const endings: Record<string, EmailOutcome> = {
  'email.sent': { kind: 'sent' },
  'email.failed': { kind: 'refused', temporary: false, error: '550 5.7.1 Policy' },
  'email.interrupted': { kind: 'ambiguous', error: 'The connection was lost' },
  'email.skipped': { kind: 'withdrawn', error: 'The address is suppressed (MANUAL)' },
}

/** The events of emails, each with what is emitted together with it. */
export const emailCases: [event: string, emitted: string[]][] = [
  ...Object.keys(endings).map((event): [string, string[]] => [event, [event]]),
  ['template.paused', ['subscription.unsubscribed', 'template.paused', 'mail.complained']],
]

/** Returns a function whose effect is the event. */
export function prepareEmailEvent(ctx: Ctx, contact: { id: ContactId; email: string }, event: string) {
  const ending = endings[event]
  return ending ? endTestEmail(ctx, contact.id, ending) : pauseTestTemplate(ctx, contact)
}

/** Claims an email. Returns a function that records its outcome. */
async function endTestEmail(ctx: Ctx, contactId: ContactId, outcome: EmailOutcome) {
  const email = await claimNewEmail(ctx, contactId)
  return () => recordEmailOutcomes(ctx, [{ email, outcome }])
}

/** Sends an email from a template with two complaints. Returns a function that records the third one. */
async function pauseTestTemplate(ctx: Ctx, { id, email: address }: { id: ContactId; email: string }) {
  const email = await claimNewEmail(ctx, id)
  await recordEmailOutcomes(ctx, [{ email, outcome: { kind: 'sent' } }])
  for (const to of ['b@example.com', 'c@example.com'])
    await createTestEmail(ctx, email.templateId, { to: { email: to } })
  const isOther = and(eq(emails.workspaceId, ctx.workspaceId), ne(emails.id, email.id))
  await ctx.db.update(emails).set({ status: 'SENT', complainedAt: timestampNow() }).where(isOther)
  return () => reportByClient(ctx, { email: address, type: 'COMPLAINT', messageId: `<${email.id}@example.com>` })
}
