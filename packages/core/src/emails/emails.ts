import { and, eq, sql } from 'drizzle-orm'
import { findContactsByKeys } from '../contacts/find-contact.ts'
import { emails } from '../db/schema/index.ts'
import { notFound } from '../kernel/errors.ts'
import type { ContactId, EmailId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { type EmailRow, toEmail } from './email-record.ts'
import type { EmailQuery, EmailRecord } from './emails.schema.ts'

/** Reads one email. */
export async function readEmail(ctx: Ctx, id: EmailId): Promise<EmailRecord> {
  const [row] = await ctx.db
    .select()
    .from(emails)
    .where(byId(emails, ctx, id))
  if (!row) throw notFound('Email')
  return toEmail(row)
}

/** Lists a page of the workspace's emails. */
export async function listEmails(ctx: Ctx, query: EmailQuery): Promise<Page<EmailRecord>> {
  const { status, contactId, externalId, templateId, tag } = query
  const [contact] = externalId === undefined ? [] : await findContactsByKeys(ctx, [{ externalId }])
  if (externalId !== undefined && !contact) return { data: [], nextCursor: null }
  return readEmails(ctx, {
    name: 'emails',
    query,
    where: and(
      status && eq(emails.status, status),
      contactId && eq(emails.contactId, contactId),
      contact && eq(emails.contactId, contact.id),
      templateId && eq(emails.templateId, templateId),
      tag === undefined ? undefined : sql`${emails.tags} @> ${sql.param([tag])}::text[]`,
      isCreatedInRange(emails, query),
    ),
  })
}

/** Lists a page of the emails to a contact, for the export of a person. */
export function listEmailsOfContact(
  ctx: Ctx,
  contactId: ContactId,
  query: Pick<EmailQuery, 'limit' | 'cursor'>,
): Promise<Page<EmailRecord>> {
  return readEmails(ctx, {
    name: `emails ${contactId}`,
    query: { ...query, sort: 'createdAt' },
    where: eq(emails.contactId, contactId),
  })
}

async function readEmails(
  ctx: Ctx,
  {
    name,
    query,
    where,
  }: Pick<Parameters<typeof readPage<EmailRow>>[1], 'name' | 'query'> & { where: ReturnType<typeof and> },
): Promise<Page<EmailRecord>> {
  const page = await readPage<EmailRow>(ctx, {
    name,
    query,
    ...byCreation<EmailRow>(emails),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(emails)
        .where(and(eq(emails.workspaceId, ctx.workspaceId), where, after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toEmail) }
}
