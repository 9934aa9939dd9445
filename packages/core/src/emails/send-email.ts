/**
 * How a worker sends an email from a template, at most once: it claims the email, asks for suppressions of the address
 * that the contact has by then, sends, and records the outcome. A claim that ends in any other way makes it INTERRUPTED:
 * only the caller can send another one.
 */
import { and, eq, inArray } from 'drizzle-orm'
import { describeBlock, findEmailBlock } from '../suppressions/email-block.ts'
import { contactColumns, toContact } from '../contacts/contact-record.ts'
import type { Contact } from '../contacts/contacts.schema.ts'
import { contacts, emails, templates, templateVersions } from '../db/schema/index.ts'
import type { Db } from '../db/client.ts'
import { transaction } from '../db/transaction.ts'
import { emit, type EmitScope } from '../events/emit.ts'
import { type EmailId, idOf, uuidOf } from '../kernel/ids.ts'
import { timestampAt, timestampNow } from '../kernel/validation.ts'
import type { MailOutcome } from '../mail/mails.ts'
import { hashProviderMessageId } from '../mail/providers/provider-message-id.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { type Claim, claimWork, delayClaim, latestToken, lockClaim, type Recovery } from '../work/claims.ts'
import { finishWork } from '../work/enqueue.ts'
import { type EmailRow, toEmail } from './email-record.ts'
import { emailFailed, emailInterrupted, emailSent, emailSkipped } from './emails.schema.ts'
import { parkIfPaused } from './pending-emails.ts'
import type { TemplateContent } from './templates/templates.ts'

/** An email that only the owner of the claim may send. Its `attempts` include the one that begins. */
export interface ClaimedEmail extends EmailRow {
  kind: 'EMAIL'
  /** As it was at the claim. */
  contact: Contact
  content: TemplateContent
  claim: Claim
}

/** `withdrawn`: the address is suppressed by now, and the email was not sent. */
export type EmailOutcome = MailOutcome | { kind: 'withdrawn'; error: string }

const minute = 60_000
/** After a temporary refusal, within 24 hours. A server that delays unknown senders accepts them after some minutes. */
const retryDelaysMs = [minute / 2, 5 * minute, 30 * minute, 180 * minute, 720 * minute] as const

/** Claims a PENDING email of an ACTIVE template, and skips it if its address is suppressed. Parks one of a PAUSED template. */
export function claimEmail(ctx: Ctx, claim: Claim): Promise<ClaimedEmail | undefined> {
  return inTransaction(ctx, async (ctx) => {
    const id = idOf('mai', claim.id)
    const found = await lockSendable(ctx, id)
    if (!found) await parkIfPaused(ctx, id)
    if (!found || !(await claimWork(ctx, claim))) return undefined
    const { row, content } = found
    const { contactId } = row
    const contact = contactId === null ? undefined : await findContact(ctx, contactId)
    const reason = contact ? await findEmailBlock(ctx, contact) : undefined
    const token = latestToken(claim)
    const claimed = { ...row, token, attempts: row.attempts + 1 }
    if (!contact || reason) {
      const error = reason ? describeBlock(reason) : 'The contact was deleted'
      await end(ctx, { ...claimed, attempts: row.attempts }, { status: 'SKIPPED', reason: error })
      return undefined
    }
    await ctx.db.update(emails).set({ token }).where(isEmail(ctx, id))
    return { ...claimed, kind: 'EMAIL', contact, content, claim }
  })
}

/** Locks a PENDING email of an ACTIVE template, and reads the version that accepted it. */
async function lockSendable(ctx: Ctx, id: EmailId): Promise<{ row: EmailRow; content: TemplateContent } | undefined> {
  const { workspaceId, templateId, templateVersion } = emails
  const isOfTemplate = and(eq(templates.workspaceId, workspaceId), eq(templates.id, templateId))
  const isOfVersion = and(
    eq(templateVersions.workspaceId, workspaceId),
    eq(templateVersions.templateId, templateId),
    eq(templateVersions.version, templateVersion),
  )
  const [found] = await ctx.db
    .select({ row: emails, content: templateVersions })
    .from(emails)
    .innerJoin(templates, isOfTemplate)
    .innerJoin(templateVersions, isOfVersion)
    .where(and(byId(emails, ctx, id), eq(emails.status, 'PENDING'), eq(templates.status, 'ACTIVE')))
    .for('update', { of: emails })
  return found
}

async function findContact(ctx: Ctx, id: Contact['id']): Promise<Contact | undefined> {
  const [row] = await ctx.db
    .select(contactColumns)
    .from(contacts)
    .where(byId(contacts, ctx, id))
  return row && toContact(row)
}

/**
 * Whether an email that was claimed a while ago may still go: asks for the claim, for the address of the contact, and for
 * its suppressions. Returns the outcome if not.
 */
export async function askAgain(
  ctx: Ctx,
  email: ClaimedEmail,
): Promise<Exclude<EmailOutcome, { kind: 'sent' }> | undefined> {
  const [current] = await ctx.db
    .select({ id: contacts.id, email: contacts.email })
    .from(emails)
    .innerJoin(contacts, and(eq(contacts.workspaceId, emails.workspaceId), eq(contacts.id, emails.contactId)))
    .where(and(isLastAttempt(ctx, email), eq(emails.status, 'PENDING')))
  if (!current) return { kind: 'refused', temporary: true, error: 'The email waited too long for a connection' }
  if (current.email !== email.contact.email)
    return { kind: 'refused', temporary: true, error: 'The address of the contact has changed' }
  const reason = await findEmailBlock(ctx, current)
  return reason && { kind: 'withdrawn', error: describeBlock(reason) }
}

/** Whether no further attempt follows. */
export const isFinalEmailOutcome = (email: EmailRow, outcome: EmailOutcome): boolean =>
  retryDelayMs(email, outcome) === undefined

/** When the next attempt follows a temporary refusal: at most five times. */
function retryDelayMs({ attempts }: EmailRow, outcome: EmailOutcome): number | undefined {
  return outcome.kind === 'refused' && outcome.temporary ? retryDelaysMs[attempts - 1] : undefined
}

type Ending = Pick<EmailRow, 'reason'> &
  Partial<Pick<EmailRow, 'providerMessageHash'>> & { status: Exclude<EmailRow['status'], 'PENDING'> }

/**
 * Records the outcome of an attempt, deletes the values of the email unless it waits for another attempt, and emits its
 * event. An outcome that comes late, after recovery, counts unless another attempt has begun; then nothing is repeated.
 */
export function recordEmailOutcome(ctx: Ctx, email: ClaimedEmail, outcome: EmailOutcome): Promise<'done'> {
  return inTransaction(ctx, async (ctx): Promise<'done'> => {
    const [current] = await ctx.db
      .select()
      .from(emails)
      .where(and(isLastAttempt(ctx, email), inArray(emails.status, ['PENDING', 'INTERRUPTED'])))
      .for('update')
    const ending = toEnding(outcome)
    // Recovery has told an unknown outcome already.
    if (!current || current.status === ending.status) return 'done'
    const delayMs = current.status === 'PENDING' ? retryDelayMs(email, outcome) : undefined
    const reason = outcome.kind === 'sent' ? null : outcome.error
    const attempted = { ...current, attempts: email.attempts }
    if (delayMs === undefined) await end(ctx, attempted, { ...ending, reason })
    else {
      await ctx.db
        .update(emails)
        .set({ attempts: email.attempts, reason })
        .where(byId(emails, ctx, email.id))
      await delayClaim(ctx, email.claim, timestampAt(Date.now() + delayMs))
    }
    return 'done'
  })
}

function toEnding(outcome: EmailOutcome): Omit<Ending, 'reason'> {
  if (outcome.kind === 'refused') return { status: 'FAILED' }
  if (outcome.kind !== 'sent') return { status: outcome.kind === 'withdrawn' ? 'SKIPPED' : 'INTERRUPTED' }
  const { providerMessageId: id } = outcome
  return { status: 'SENT', providerMessageHash: id ? hashProviderMessageId(id) : null }
}

const eventOf = {
  SENT: emailSent,
  FAILED: emailFailed,
  INTERRUPTED: emailInterrupted,
  SKIPPED: emailSkipped,
} as const

/** Ends a locked email with its work, and deletes its values. */
async function end(ctx: EmitScope, email: EmailRow, ending: Ending): Promise<void> {
  const changes = { ...ending, attempts: email.attempts, sealedData: null, endedAt: timestampNow() }
  await ctx.db.update(emails).set(changes).where(isEmail(ctx, email.id))
  await finishWork(ctx, [uuidOf(email.id)])
  await emit(ctx, eventOf[ending.status], toEmail({ ...email, ...changes }))
}

/**
 * Ends a claim whose outcome is unknown: the email may have been sent, so it becomes INTERRUPTED. Returns whether it did.
 */
export function recoverEmail(db: Db, claim: Claim, { error }: Pick<Recovery, 'error'>): Promise<boolean> {
  return transaction(db, async (db) => {
    const scope = { db, workspaceId: claim.workspaceId, requestId: claim.id }
    const isSubject = isEmail(scope, idOf('mai', claim.id))
    const [email] = await db.select().from(emails).where(isSubject).for('update')
    if (!email || !(await lockClaim(scope, claim))) return false
    await interruptEmail(scope, { ...email, attempts: email.attempts + 1 }, error)
    return true
  })
}

/** Ends a locked email that may have been sent. */
export async function interruptEmail(scope: EmitScope, email: EmailRow, reason: string): Promise<void> {
  await end(scope, email, { status: 'INTERRUPTED', reason })
}

const isEmail = ({ workspaceId }: Pick<EmitScope, 'workspaceId'>, id: EmailId) =>
  and(eq(emails.workspaceId, workspaceId), eq(emails.id, id))
const isLastAttempt = (ctx: Ctx, email: ClaimedEmail) =>
  and(byId(emails, ctx, email.id), eq(emails.token, email.token ?? ''))
