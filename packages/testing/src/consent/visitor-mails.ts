/** Mails that visitors asked for, in workspaces with a budget. */
import { mailRequests, mails, visitorMails } from '@rapport/core/db/schema/index.ts'
import type { ListId } from '@rapport/core/kernel/ids.ts'
import { type Timestamp, timestampAt } from '@rapport/core/kernel/values/timestamps.ts'
import { byId } from '@rapport/core/request/by-id.ts'
import { confirmSubscription, subscribe } from '@rapport/core/lists/subscribe.ts'
import { confirmationUrl } from '@rapport/core/lists/subscription-links.ts'
import { releaseVisitorMails } from '@rapport/core/mail/budget/release-visitor-mails.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { and, eq, sql } from 'drizzle-orm'

/** Subscribes `<name>-1@example.com` and so on, one after the other, as visitors do. Returns the addresses. */
export async function askVisitors(
  ctx: Ctx,
  listId: ListId,
  { count, name = 'visitor' }: { count: number; name?: string },
): Promise<string[]> {
  const emails = Array.from({ length: count }, (_value, index) => `${name}-${index + 1}@example.com`)
  for (const email of emails) await subscribe(ctx, listId, { email, firstName: '', lastName: '' })
  return emails
}

/** The addresses of the mails of visitors, of one status or of all, in the order in which they are released. */
export async function listVisitorMails(
  ctx: Ctx,
  status?: (typeof visitorMails.$inferSelect)['status'],
): Promise<string[]> {
  const ofStatus = status && eq(visitorMails.status, status)
  const rows = await ctx.db
    .select({ email: mails.toAddress })
    .from(visitorMails)
    .innerJoin(mails, and(eq(mails.workspaceId, visitorMails.workspaceId), eq(mails.id, visitorMails.id)))
    .where(and(eq(visitorMails.workspaceId, ctx.workspaceId), ofStatus))
    .orderBy(visitorMails.createdAt, visitorMails.id)
  return rows.map(({ email }) => email)
}

/** Uses the link of the latest mail to the address, as its reader does. */
export async function useMailedLink(ctx: Ctx, email: string): Promise<void> {
  const [mail] = await ctx.db
    .select()
    .from(mails)
    .where(and(eq(mails.workspaceId, ctx.workspaceId), eq(mails.toAddress, email)))
    .orderBy(sql`${mails.createdAt} desc`)
    .limit(1)
  if (!mail?.data.listId || !mail.data.contactId) throw new Error(`No confirmation was mailed to ${email}`)
  const { listId, contactId } = mail.data
  const url = confirmationUrl(ctx, { listId, contactId, email, issuedAt: mail.createdAt })
  await confirmSubscription(ctx, new URL(url).searchParams.get('token') ?? '')
}

/** Moves what the budget has counted, and what waits, into the past. */
export async function backdateVisitorMails(ctx: Ctx, hours: number): Promise<void> {
  const earlier = (moment: Timestamp) => timestampAt(Date.parse(moment) - hours * 3_600_000)
  for (const { id, createdAt, releasedAt, usedAt, toldAt } of await ctx.db
    .select()
    .from(visitorMails)
    .where(eq(visitorMails.workspaceId, ctx.workspaceId))) {
    const moved = {
      createdAt: earlier(createdAt),
      releasedAt: releasedAt && earlier(releasedAt),
      usedAt: usedAt && earlier(usedAt),
      toldAt: toldAt && earlier(toldAt),
    }
    await ctx.db
      .update(visitorMails)
      .set(moved)
      .where(byId(visitorMails, ctx, id))
  }
  for (const { id, createdAt } of await ctx.db
    .select()
    .from(mailRequests)
    .where(eq(mailRequests.workspaceId, ctx.workspaceId)))
    await ctx.db
      .update(mailRequests)
      .set({ createdAt: earlier(createdAt) })
      .where(byId(mailRequests, ctx, id))
}

/** Prepares the release that withholds the second of two mails. */
export async function prepareWithheld(ctx: Ctx, listId: ListId): Promise<() => Promise<unknown>> {
  await setQuotas(ctx, { confirmations: 1 })
  await askVisitors(ctx, listId, { count: 2 })
  return () => releaseVisitorMails(ctx)
}
