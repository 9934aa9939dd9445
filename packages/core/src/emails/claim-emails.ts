/**
 * How a worker gets the emails from templates that it sends: it claims several of a workspace with one statement, and
 * asks whether the addresses that their contacts have by then are suppressed.
 */
import { getTableColumns, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import { contactColumns, type ContactRow, toContact } from '../contacts/contact-record.ts'
import type { Contact } from '../contacts/contacts.schema.ts'
import { givenIds } from '../db/given-ids.ts'
import { emails, work } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, int, nullable, timestamptz, uuid } from '../db/statements/sql-types.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import type { Ctx } from '../request/context.ts'
import { isInStoppedWorkspace } from '../request/workspace-state.ts'
import { describeBlock, findEmailBlocks } from '../suppressions/email-block.ts'
import { type Claim, claimMany, latestToken } from '../work/claims.ts'
import { isDue } from '../work/kinds.ts'
import type { EmailRow } from './email-record.ts'
import { parkIfPaused } from './pending-emails.ts'
import { type AttemptedEmail, type EmailOutcome, recordEmailOutcomes } from './record-emails.ts'
import { readVersion, type TemplateContent } from './templates/template-versions.ts'

/** An email that only the owner of the claim may send. */
export interface ClaimedEmail extends EmailRow, AttemptedEmail {
  kind: 'EMAIL'
  id: EmailRow['id']
  /** As it was at the claim. */
  contact: Contact
  content: TemplateContent
}

/**
 * Finds emails that are due and that no process has published, in their order: those beyond what a workspace may have
 * published, and retries. A job takes them along with its own, so that they need neither a job each nor the poll. Finds
 * none in a suspended or deleted workspace, where none can be claimed.
 */
export async function findUnpublishedEmails(
  { db, workspaceId }: Ctx,
  { limit, offset }: { limit: number; offset: number },
): Promise<string[]> {
  return (await selectUnpublished(db, { workspaceId, limit, offset })).map(({ id }) => id)
}

const selectUnpublished = namedStatement('find unpublished emails', {
  isPrepared: true,
  params: { workspaceId: work.workspaceId, limit: int, offset: int },
  columns: { id: uuid },
  sql: ({ workspaceId, limit, offset }) => sql`
    select id from work
    where kind = 'EMAIL' and workspace_id = ${workspaceId} and ${isDue} and token is null and published_at is null
      and not ${isInStoppedWorkspace(workspaceId)}
    order by due_at, id limit ${limit} offset ${offset}`,
})

/**
 * Claims those of the emails that are PENDING, of an ACTIVE template, and without a claim. Skips those whose address is
 * suppressed, and parks those of a PAUSED template.
 */
export async function claimEmails(ctx: Ctx, claims: readonly Claim[]): Promise<ClaimedEmail[]> {
  const rows = await claimPending(ctx.db, {
    workspaceId: ctx.workspaceId,
    ids: claims.map(({ id }) => id),
    tokens: claims.map(latestToken),
    workerId: claims[0]?.workerId ?? '',
    now: timestampNow(),
  })
  const claimOf = new Map(claims.map((claim) => [claim.id, claim]))
  const found = rows.flatMap(({ requestId, traceparent, ...row }) => {
    const claim = claimOf.get(uuidOf(row.id))
    if (!claim) return []
    claimOf.delete(claim.id)
    const origin = { requestId: requestId ?? claim.id, ...(traceparent !== null && { traceparent }) }
    return { ...row, attempts: row.attempts + 1, kind: 'EMAIL' as const, claim, origin, contact: toRecipient(row) }
  })
  const unclaimed = [...claimOf.keys()].map((id) => idOf('mai', id))
  if (unclaimed.length > 0) await parkIfPaused(ctx, unclaimed)
  const blocks = await findEmailBlocks(
    ctx,
    found.flatMap(({ contact }) => contact ?? []),
  )
  const claimed: ClaimedEmail[] = []
  const skipped: { email: AttemptedEmail; outcome: EmailOutcome }[] = []
  for (const email of found) {
    const { contact } = email
    const reason = contact && blocks.get(contact.id)
    const error = reason ? describeBlock(reason) : 'The contact was deleted'
    if (!contact || reason) skipped.push({ email, outcome: { kind: 'withdrawn', error } })
    else claimed.push({ ...email, contact, content: await readVersion(ctx, email.templateId, email.templateVersion) })
  }
  await recordEmailOutcomes(ctx, skipped)
  return claimed
}

/** The columns of the contact, beside those of the email. */
const recipientProperties = Object.keys(contactColumns) as (keyof ContactRow)[]
const ofRecipient = (property: string) => `recipient${property[0]?.toUpperCase()}${property.slice(1)}`
const recipientColumns = Object.fromEntries(
  recipientProperties.map((property) => [ofRecipient(property), nullable(contactColumns[property])]),
)
const recipientNames = sql.raw(
  recipientProperties
    .map((property) => `c.${toSnakeCase(property)} as ${toSnakeCase(ofRecipient(property))}`)
    .join(', '),
)

function toRecipient(row: Record<string, unknown>): Contact | undefined {
  if (row[ofRecipient('id')] === null) return undefined
  const contact = recipientProperties.map((property) => [property, row[ofRecipient(property)]])
  return toContact(Object.fromEntries(contact) as ContactRow)
}

/**
 * `ended_at is null` is PENDING: with the status, the planner may read all emails that wait. The emails are locked before
 * their work, as in every transaction that changes both.
 */
const claimPending = namedStatement('claim emails', {
  isPrepared: true,
  params: {
    workspaceId: work.workspaceId,
    ids: arrayOf(uuid),
    tokens: arrayOf(uuid),
    workerId: uuid,
    now: timestamptz,
  },
  columns: {
    ...getTableColumns(emails),
    requestId: nullable(work.requestId),
    traceparent: nullable(work.traceparent),
    ...recipientColumns,
  },
  sql: (param) => sql`
    with sendable as (
      select e.id from ${givenIds(param.ids)}
      join emails e on e.workspace_id = ${param.workspaceId} and e.id = given.id
      join templates t on t.workspace_id = ${param.workspaceId} and t.id = e.template_id
      where e.ended_at is null and t.status = 'ACTIVE'
      order by e.id for update of e),
    subject as (
      select sendable.id, claim.token
      from sendable join unnest(${param.ids}, ${param.tokens}) as claim (id, token) on claim.id = sendable.id),
    claimed as (${claimMany('EMAIL', param)}),
    marked as (
      update emails e set token = claimed.token from claimed
      where e.workspace_id = ${param.workspaceId} and e.id = claimed.id
      returning e.*, claimed.request_id, claimed.traceparent)
    select m.*, ${recipientNames} from marked m
    left join contacts c on c.workspace_id = ${param.workspaceId} and c.id = m.contact_id`,
})
