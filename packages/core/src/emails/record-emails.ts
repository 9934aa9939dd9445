/**
 * How the attempts to send emails from templates end: outcomes are recorded together, and a claim that ends in any other
 * way makes its email INTERRUPTED. Only the caller can send another one.
 */
import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { givenIds } from '../db/given-ids.ts'
import { contacts, emails } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, int, nullable, text, timestamptz, uuid } from '../db/statements/sql-types.ts'
import { transaction } from '../db/transaction.ts'
import { emitEach, type EmitScope } from '../events/emit.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { type MailOutcome, mayPassLater } from '../mail/mails.ts'
import { hashProviderMessageId } from '../mail/providers/provider-message-id.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { describeBlock, findEmailBlocks } from '../suppressions/email-block.ts'
import { type Claim, delayClaim, lockClaim, type Recovery } from '../work/claims.ts'
import { finishMany, lockWork } from '../work/enqueue.ts'
import { type EmailRow, toEmail } from './email-record.ts'
import { emailFailed, emailInterrupted, emailSent, emailSkipped } from './emails.schema.ts'

/** `withdrawn`: the address is suppressed by now, and the email was not sent. */
export type EmailOutcome = MailOutcome | { kind: 'withdrawn'; error: string }
export type UnsentOutcome = Exclude<EmailOutcome, { kind: 'sent' }>

/** What the end of an attempt needs to know. */
export interface AttemptedEmail extends Pick<EmailRow, 'id' | 'token'> {
  /** Includes the one that ends. */
  attempts: number
  claim: Claim
  /** The request that accepted the email. */
  origin: Pick<Ctx, 'requestId' | 'traceparent'>
}

const minute = 60_000
/** After a refusal that may pass, within 24 hours. A server that delays unknown senders accepts them after some minutes. */
const retryDelaysMs = [minute / 2, 5 * minute, 30 * minute, 180 * minute, 720 * minute] as const

/**
 * Whether an email that was claimed a while ago may still go: asks for the claim, for the address of the contact, and for
 * its suppressions. Returns the outcome if not.
 */
export async function askAgain(
  ctx: Ctx,
  email: AttemptedEmail & { contact: { email: string } },
): Promise<UnsentOutcome | undefined> {
  const { workspaceId } = ctx
  const [current] = await findCurrentAddress(ctx.db, { workspaceId, id: email.id, token: email.token ?? '' })
  if (!current) return { kind: 'refused', temporary: true, error: 'The email waited too long for a connection' }
  if (current.email !== email.contact.email)
    return { kind: 'refused', temporary: true, error: 'The address of the contact has changed' }
  const reason = (await findEmailBlocks(ctx, [current])).get(current.id)
  return reason && { kind: 'withdrawn', error: describeBlock(reason) }
}

const findCurrentAddress = namedStatement('find the address of a claimed email', {
  isPrepared: true,
  params: { workspaceId: emails.workspaceId, id: emails.id, token: uuid },
  columns: { id: contacts.id, email: contacts.email },
  sql: ({ workspaceId, id, token }) => sql`
    select c.id, c.email from emails e
    join contacts c on c.workspace_id = e.workspace_id and c.id = e.contact_id
    where e.workspace_id = ${workspaceId} and e.id = ${id} and e.token = ${token} and e.status = 'PENDING'`,
})

/** Whether no further attempt follows. */
export const isFinalEmailOutcome = (email: Pick<EmailRow, 'attempts'>, outcome: EmailOutcome): boolean =>
  retryDelayMs(email, outcome) === undefined

/** When the next attempt follows a refusal that may pass: at most five times. */
function retryDelayMs({ attempts }: Pick<EmailRow, 'attempts'>, outcome: EmailOutcome): number | undefined {
  return outcome.kind === 'refused' && mayPassLater(outcome) ? retryDelaysMs[attempts - 1] : undefined
}

/**
 * Records the outcomes of attempts, deletes the values of the emails unless they wait for another attempt, and emits
 * their events. An outcome that comes late, after recovery, counts unless another attempt has begun; then nothing is
 * repeated. It has no reason if the contact was deleted in between.
 */
export async function recordEmailOutcomes(
  ctx: Ctx,
  attempts: readonly { email: AttemptedEmail; outcome: EmailOutcome }[],
): Promise<void> {
  if (attempts.length === 0) return
  await inTransaction(ctx, async (ctx) => {
    const ids = attempts.map(({ email }) => email.id)
    const tokens = attempts.map(({ email }) => email.token ?? '')
    const locked = await lockAttempts(ctx.db, { workspaceId: ctx.workspaceId, ids, tokens })
    const endings: Ending[] = []
    const delays: Delay[] = []
    for (const row of locked) {
      const attempt = attempts.find(({ email }) => email.id === row.id && email.token === row.token)
      const ending = attempt && toEnding(attempt.outcome)
      // Recovery has told an unknown outcome already.
      if (!attempt || !ending || row.status === ending.status) continue
      const { email, outcome } = attempt
      const delayMs = row.status === 'PENDING' ? retryDelayMs(email, outcome) : undefined
      const reason = outcome.kind === 'sent' || row.contactId === null ? null : outcome.error
      const attempted = { ...row, attempts: email.attempts, reason }
      if (delayMs === undefined) endings.push({ email: { ...attempted, ...ending }, origin: email.origin })
      else delays.push({ claim: email.claim, email: attempted, delayMs })
    }
    // In one order, as others lock them: those that end are locked later.
    if (delays.length > 0)
      await lockWork(
        ctx,
        locked.map(({ id }) => uuidOf(id)),
      )
    for (const one of delays) await delay(ctx, one)
    await endEmails(ctx, endings)
  })
}

const lockAttempts = namedStatement('lock attempted emails', {
  isPrepared: true,
  params: { workspaceId: emails.workspaceId, ids: arrayOf(emails.id), tokens: arrayOf(uuid) },
  columns: getTableColumns(emails),
  sql: ({ workspaceId, ids, tokens }) => sql`
    select e.* from ${givenIds(ids)} join emails e on e.id = given.id
    where e.workspace_id = ${workspaceId} and e.token = any(${tokens}) and e.status in ('PENDING', 'INTERRUPTED')
    order by e.id for update of e`,
})

/** Another attempt at an email follows. */
interface Delay {
  claim: Claim
  /** With its `reason` and `attempts`. */
  email: EmailRow
  delayMs: number
}

async function delay(ctx: Ctx, { claim, email, delayMs }: Delay): Promise<void> {
  const { attempts, reason } = email
  await ctx.db
    .update(emails)
    .set({ attempts, reason })
    .where(byId(emails, ctx, email.id))
  await delayClaim(ctx, claim, delayMs)
}

function toEnding(outcome: EmailOutcome): Pick<EmailRow, 'status'> & Partial<Pick<EmailRow, 'providerMessageHash'>> {
  if (outcome.kind === 'refused') return { status: 'FAILED' }
  if (outcome.kind !== 'sent') return { status: outcome.kind === 'withdrawn' ? 'SKIPPED' : 'INTERRUPTED' }
  const { providerMessageId: id } = outcome
  return { status: 'SENT', providerMessageHash: id ? hashProviderMessageId(id) : null }
}

/** An email as it ends, with its `status`, `reason` and `attempts`. */
interface Ending {
  email: EmailRow
  origin: AttemptedEmail['origin']
}

const endedEvents = { SENT: emailSent, FAILED: emailFailed, INTERRUPTED: emailInterrupted, SKIPPED: emailSkipped }

/** Ends locked emails with their work, and deletes their values. */
export async function endEmails(scope: EmitScope, endings: readonly Ending[]): Promise<void> {
  if (endings.length === 0) return
  const now = timestampNow()
  const ended = endings.map(({ email, origin }) => ({
    email: { ...email, sealedData: null, endedAt: now },
    origin,
  }))
  const rows = ended.map(({ email }) => email)
  await writeEndings(scope.db, {
    workspaceId: scope.workspaceId,
    ids: rows.map(({ id }) => id),
    statuses: rows.map(({ status }) => status),
    reasons: rows.map(({ reason }) => reason),
    attempts: rows.map(({ attempts }) => attempts),
    providerMessageHashes: rows.map(({ providerMessageHash }) => providerMessageHash),
    now,
  })
  for (const [status, event] of Object.entries(endedEvents)) {
    const records = ended.filter(({ email }) => email.status === status)
    await emitEach(
      scope,
      event,
      records.map(({ email, origin }) => ({ data: toEmail(email), origin })),
    )
  }
}

const writeEndings = namedStatement('end emails', {
  isPrepared: true,
  /** The arrays have one element per email, in the same order. */
  params: {
    workspaceId: emails.workspaceId,
    ids: arrayOf(emails.id),
    statuses: arrayOf(emails.status),
    reasons: arrayOf(nullable(text)),
    attempts: arrayOf(int),
    providerMessageHashes: arrayOf(nullable(uuid)),
    now: timestamptz,
  },
  sql: (param) => sql`
    with ended as (
      update emails e
      set status = given.status, reason = given.reason, attempts = given.attempts, sealed_data = null,
        provider_message_hash = given.provider_message_hash, ended_at = ${param.now}
      from unnest(${param.ids}, ${param.statuses}, ${param.reasons}, ${param.attempts}, ${param.providerMessageHashes})
        as given (id, status, reason, attempts, provider_message_hash)
      where e.workspace_id = ${param.workspaceId} and e.id = given.id)
    ${finishMany(param)}`,
})

/**
 * Ends a claim whose outcome is unknown: the email may have been sent, so it becomes INTERRUPTED. Returns whether it did.
 */
export function recoverEmail(db: Db, claim: Claim, { error }: Pick<Recovery, 'error'>): Promise<boolean> {
  return transaction(db, async (db) => {
    const scope = { db, workspaceId: claim.workspaceId, requestId: claim.id }
    const isSubject = and(eq(emails.workspaceId, claim.workspaceId), eq(emails.id, idOf('mai', claim.id)))
    const [email] = await db.select().from(emails).where(isSubject).for('update')
    if (!email || !(await lockClaim(scope, claim))) return false
    await interruptEmail(scope, { ...email, attempts: email.attempts + 1 }, error)
    return true
  })
}

/** Ends a locked email that may have been sent. */
export async function interruptEmail(scope: EmitScope, email: EmailRow, reason: string): Promise<void> {
  await endEmails(scope, [{ email: { ...email, status: 'INTERRUPTED', reason }, origin: scope }])
}
