/** What is reported of emails from templates: bounces and complaints. */
import { and, eq, inArray, isNotNull, isNull, or, sql } from 'drizzle-orm'
import type { z } from 'zod'
import { emails } from '../db/schema/index.ts'
import { type ContactId, type EmailId, Id, type TemplateId } from '../kernel/ids.ts'
import { type Timestamp, timestampNow } from '../kernel/validation.ts'
import type { Bounce } from '../mail/bounces/classify-bounce.ts'
import { hashProviderMessageId } from '../mail/providers/provider-message-id.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'

/** `contactId` is null after the erasure of the contact. */
export interface ReportedEmail {
  id: EmailId
  contactId: ContactId | null
}

const reported = { id: emails.id, contactId: emails.contactId }

export async function findEmail(ctx: Ctx, id: EmailId): Promise<ReportedEmail | undefined> {
  const [email] = await ctx.db
    .select(reported)
    .from(emails)
    .where(byId(emails, ctx, id))
  return email
}

/** Finds an email by the id that the mail server gave it. */
export async function findEmailByProviderId(ctx: Ctx, id: string): Promise<ReportedEmail | undefined> {
  const hasHash = eq(emails.providerMessageHash, hashProviderMessageId(id))
  const [email] = await ctx.db
    .select(reported)
    .from(emails)
    .where(and(eq(emails.workspaceId, ctx.workspaceId), hasHash))
    .limit(1)
  return email
}

const EmailIdSchema: z.ZodType<EmailId, string> = Id('mai')
const messageIdPattern = /^<?(mai_\w{26})@[^@<>\s]+>?$/

/** Parses the `Message-ID` of an email. Returns undefined for any other `Message-ID`, but not for that of a single mail. */
export const parseEmailMessageId = (text: string): EmailId | undefined =>
  EmailIdSchema.safeParse(messageIdPattern.exec(text)?.[1]).data

/**
 * Records a bounce or a complaint. A HARD bounce replaces an earlier one, and stays. Returns the template, whose rates
 * have changed.
 */
export async function recordEmailReport(
  ctx: Ctx,
  id: EmailId,
  report: Bounce | 'COMPLAINT',
): Promise<TemplateId | undefined> {
  const now = timestampNow()
  const isEmail = byId(emails, ctx, id)
  const [changed] =
    report === 'COMPLAINT'
      ? await ctx.db
          .update(emails)
          .set({ complainedAt: now })
          .where(and(isEmail, isNull(emails.complainedAt)))
          .returning({ templateId: emails.templateId })
      : await ctx.db
          .update(emails)
          .set({
            bounceClass: report.class,
            bounceCode: report.code,
            bouncedAt: sql`coalesce(${emails.bouncedAt}, ${sql.param(now, emails.bouncedAt)})`,
          })
          .where(and(isEmail, sql`${emails.bounceClass} is distinct from 'HARD'`))
          .returning({ templateId: emails.templateId })
  return changed?.templateId
}

/** When an email was accepted, for the count of SOFT bounces. */
export async function findEmailedAt(ctx: Ctx, id: EmailId): Promise<Timestamp | undefined> {
  const [email] = await ctx.db
    .select({ createdAt: emails.createdAt })
    .from(emails)
    .where(byId(emails, ctx, id))
  return email?.createdAt
}

/** When emails from templates were sent to a contact. */
export async function listEmailedAt(ctx: Ctx, contactId: ContactId): Promise<Timestamp[]> {
  const rows = await ctx.db
    .select({ createdAt: emails.createdAt })
    .from(emails)
    .where(
      and(
        eq(emails.workspaceId, ctx.workspaceId),
        eq(emails.contactId, contactId),
        or(
          inArray(emails.status, ['PENDING', 'SENT']),
          and(eq(emails.status, 'FAILED'), isNotNull(emails.bounceClass)),
        ),
      ),
    )
  return rows.map(({ createdAt }) => createdAt)
}
