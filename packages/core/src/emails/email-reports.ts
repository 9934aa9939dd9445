/** What is reported of emails from templates: bounces and complaints. */
import { and, eq, inArray, isNotNull, isNull, or, sql } from 'drizzle-orm'
import { z } from 'zod'
import { emails } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, nullable, text, timestamptz } from '../db/statements/sql-types.ts'
import { type ContactId, type EmailId, Id, type TemplateId } from '../kernel/ids.ts'
import { type Timestamp, timestampNow } from '../kernel/values/timestamps.ts'
import type { Bounce } from '../mail/bounces/classify-bounce.ts'
import { lastBounces } from '../mail/bounces/last-bounces.ts'
import type { Ctx } from '../request/context.ts'

/** `contactId` is null after the erasure of the contact. */
export interface ReportedEmail {
  id: EmailId
  contactId: ContactId | null
}

const reported = { id: emails.id, contactId: emails.contactId }

export async function findEmails(ctx: Ctx, ids: readonly EmailId[]): Promise<Map<EmailId, ReportedEmail>> {
  if (ids.length === 0) return new Map()
  const rows = await ctx.db.select(reported).from(emails).where(areEmails(ctx, ids))
  return new Map(rows.map((email) => [email.id, email]))
}

/** Finds emails by the hashes of the ids that the mail server gave them. */
export async function findEmailsByProviderIds(
  ctx: Ctx,
  hashes: readonly string[],
): Promise<Map<string | null, ReportedEmail>> {
  if (hashes.length === 0) return new Map()
  const { providerMessageHash: hash } = emails
  const rows = await ctx.db
    .select({ hash, ...reported })
    .from(emails)
    .where(and(eq(emails.workspaceId, ctx.workspaceId), isAnyOf(hash, hashes)))
  return new Map(rows.map(({ hash, ...email }) => [hash, email]))
}

const areEmails = (ctx: Ctx, ids: readonly EmailId[]) =>
  and(eq(emails.workspaceId, ctx.workspaceId), isAnyOf(emails.id, ids))

const EmailIds = z.object({ id: Id('mai'), workspaceId: Id('wsp').optional() })
const messageIdPattern = /^<?(mai_\w{26})(?:\.(wsp_\w{26}))?@[^@<>\s]+>?$/

/**
 * Parses the `Message-ID` of an email. Returns undefined for any other `Message-ID`, but not for that of a single mail.
 * Who reports to a workspace may leave out its id.
 */
export function parseEmailMessageId(text: string): z.output<typeof EmailIds> | undefined {
  const [, id, workspaceId] = messageIdPattern.exec(text) ?? []
  return EmailIds.safeParse({ id, workspaceId }).data
}

/** Records complaints. Returns the templates whose rates have changed. */
export async function recordEmailComplaints(ctx: Ctx, ids: readonly EmailId[]): Promise<TemplateId[]> {
  if (ids.length === 0) return []
  const changed = await ctx.db
    .update(emails)
    .set({ complainedAt: timestampNow() })
    .where(and(areEmails(ctx, ids), isNull(emails.complainedAt)))
    .returning({ templateId: emails.templateId })
  return changed.map(({ templateId }) => templateId)
}

/**
 * Records the class and code of a bounce of each email. A HARD bounce replaces an earlier one, and stays. Returns the
 * templates whose rates have changed.
 */
export async function recordEmailBounces(
  ctx: Ctx,
  bounces: readonly { id: EmailId; bounce: Bounce }[],
): Promise<TemplateId[]> {
  const rows = lastBounces(bounces, ({ id }) => id)
  if (rows.length === 0) return []
  const changed = await updateBounces(ctx.db, {
    workspaceId: ctx.workspaceId,
    ids: rows.map(({ id }) => id),
    classes: rows.map(({ bounce }) => bounce.class),
    codes: rows.map(({ bounce }) => bounce.code),
    now: timestampNow(),
  })
  return changed.map(({ templateId }) => templateId)
}

const updateBounces = namedStatement('record bounces of emails', {
  params: {
    workspaceId: emails.workspaceId,
    ids: arrayOf(emails.id),
    classes: arrayOf(text),
    codes: arrayOf(nullable(text)),
    now: timestamptz,
  },
  columns: { templateId: emails.templateId },
  sql: ({ workspaceId, ids, classes, codes, now }) => sql`
    update emails e set bounce_class = given.class, bounce_code = given.code, bounced_at = coalesce(e.bounced_at, ${now})
    from unnest(${ids}, ${classes}, ${codes}) as given (id, class, code)
    where e.workspace_id = ${workspaceId} and e.id = given.id and e.bounce_class is distinct from 'HARD'
    returning e.template_id`,
})

/** When emails were accepted, for the count of SOFT bounces. */
export async function findEmailedAt(ctx: Ctx, ids: readonly EmailId[]): Promise<Map<EmailId, Timestamp>> {
  if (ids.length === 0) return new Map()
  const { id, createdAt } = emails
  const rows = await ctx.db.select({ id, createdAt }).from(emails).where(areEmails(ctx, ids))
  return new Map(rows.map((email) => [email.id, email.createdAt]))
}

/** When emails from templates were sent to contacts, by contact. */
export async function listEmailedAt(ctx: Ctx, contactIds: readonly ContactId[]): Promise<Map<ContactId, Timestamp[]>> {
  const { contactId, createdAt } = emails
  const rows = await ctx.db
    .select({ contactId, createdAt })
    .from(emails)
    .where(
      and(
        eq(emails.workspaceId, ctx.workspaceId),
        isAnyOf(contactId, contactIds),
        or(
          inArray(emails.status, ['PENDING', 'SENT']),
          and(eq(emails.status, 'FAILED'), isNotNull(emails.bounceClass)),
        ),
      ),
    )
  const byContact = Map.groupBy(rows, (row) => row.contactId)
  return new Map([...byContact].flatMap(([id, of]) => (id ? [[id, of.map((email) => email.createdAt)] as const] : [])))
}
