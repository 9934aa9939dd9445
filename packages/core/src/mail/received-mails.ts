import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { mails, mailStatuses, requestedMailKinds } from '../db/schema/index.ts'
import { finishWork } from '../work/enqueue.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import { CreatedAt } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import type { Ctx } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isRequestedMail, type Mail } from './mails.ts'

const receivedKinds = [...requestedMailKinds, 'CAMPAIGN_TEST'] as const

export const ReceivedMail = z
  .object({
    kind: z
      .enum(receivedKinds)
      .describe(
        '`CONFIRMATION`: confirms a subscription. `TRACKING_CONSENT`: grants tracking. `PERSONAL_DATA`: what is kept about the contact. `CAMPAIGN_TEST`: a test of a campaign.',
      ),
    to: z.string().describe('The address of the recipient.'),
    status: z.enum(mailStatuses).describe('The status of the email. `INTERRUPTED`: it may have been sent.'),
    error: z.string().nullable().describe('Why the email was not sent. `null` if nothing failed.'),
    createdAt: CreatedAt,
    endedAt: Timestamp.nullable().describe('When the outcome was recorded. `null` while PENDING.'),
  })
  .meta({ id: 'ReceivedEmail', description: 'A single email to a contact.' })
export type ReceivedMail = z.output<typeof ReceivedMail>

/** A contact with the ids of merged contacts. */
export interface MailRecipient {
  ids: readonly ContactId[]
  email: string
}

/** Returns a page of the single mails to a contact. */
export async function listReceivedMails(
  ctx: Ctx,
  contact: MailRecipient,
  query: { limit: number; cursor?: string | undefined },
): Promise<Page<ReceivedMail>> {
  const page = await readPage<Mail>(ctx, {
    name: `mails ${contact.ids[0]}`,
    query: { ...query, sort: 'createdAt' },
    ...byCreation<Mail>(mails),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(mails)
        .where(and(isOfPerson(ctx, contact, inArray(mails.kind, requestedMailKinds)), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toReceivedMail) }
}

/**
 * Deletes the single mails to a contact, and the tests that show it to others, with their work: PENDING mails are not sent.
 * Returns the addresses that the contact had.
 */
export async function deleteReceivedMails(ctx: Ctx, contact: MailRecipient): Promise<string[]> {
  const { id, kind, toAddress } = mails
  const deleted = await ctx.db.delete(mails).where(isOfPerson(ctx, contact)).returning({ id, kind, toAddress })
  await finishWork(
    ctx,
    deleted.map(({ id }) => uuidOf(id)),
  )
  return deleted.flatMap(({ kind, toAddress }) => (isRequestedMail(kind) ? [toAddress] : []))
}

/**
 * Matches mails that name the contact, at whatever address it had then, and tests to its address, which do not name it.
 * Invites and password resets are mails to users.
 */
function isOfPerson(ctx: Ctx, { ids, email }: MailRecipient, isToContact?: SQL): SQL | undefined {
  const namesContact = sql`${mails.data} ->> 'contactId' = any(${sql.param(ids)}::text[])`
  const isTestTo = sql`lower(${mails.toAddress} collate "C") = lower(${email} collate "C")`
  return and(
    eq(mails.workspaceId, ctx.workspaceId),
    or(and(namesContact, isToContact), and(eq(mails.kind, 'CAMPAIGN_TEST'), isTestTo)),
  )
}

function toReceivedMail(mail: Mail): ReceivedMail {
  return {
    kind: mail.kind as ReceivedMail['kind'],
    to: mail.toAddress,
    status: mail.status,
    error: mail.error,
    createdAt: mail.createdAt,
    endedAt: mail.endedAt,
  }
}
