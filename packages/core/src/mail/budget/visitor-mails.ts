/**
 * Mails that visitors ask for: anybody can type the address of anybody. A workspace with a budget for them stores such a
 * mail without work, and `release-visitor-mails.ts` releases it. So a request counts nothing and waits for no lock of the
 * workspace, and its response and its time say nothing about the budget.
 */
import { and, eq, gt, inArray, isNull, lt, ne, not, or, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { type MailData, mails, type requestedMailKinds, visitorMails } from '../../db/schema/index.ts'
import { purgeRows } from '../../db/statements/purge-rows.ts'
import { type ContactId, type ListId, type MailId, newId, uuidOf } from '../../kernel/ids.ts'
import { byId, isOneOf } from '../../request/by-id.ts'
import type { Ctx } from '../../request/context.ts'
import type { WorkScope } from '../../work/enqueue.ts'
import { publishRelease } from '../../work/publisher.ts'
import { timestampAt, timestampNow, type Timestamp } from '../../kernel/values/timestamps.ts'

/** The mails about one decision of a contact: of several that wait, the latest is sent. */
export interface VisitorMailSubject {
  kind: (typeof requestedMailKinds)[number]
  contactId: ContactId
  listId?: ListId | undefined
}

/** A condition: the budget has not released the mail. */
export const isWaiting = inArray(visitorMails.status, ['WAITING', 'WITHHELD'])

/**
 * Stores a mail that a visitor asked for, in the caller's transaction, with the contact locked. It takes the place of those
 * that wait; of `waitingId`, only the data change.
 */
export async function storeVisitorMail(
  ctx: Ctx,
  subject: VisitorMailSubject,
  { to, data, waitingId }: { to: string; data: MailData; waitingId: MailId | undefined },
): Promise<void> {
  if (waitingId) {
    const isWaitingMail = byId(mails, ctx, waitingId)
    await ctx.db.update(mails).set({ data }).where(isWaitingMail)
    return
  }
  const replaced = await replaceWaitingMail(ctx, subject)
  const { workspaceId } = ctx
  const id = newId('mai')
  await ctx.db.insert(mails).values({ workspaceId, id, kind: subject.kind, toAddress: to, data })
  await ctx.db.insert(visitorMails).values({ workspaceId, id, ...subject, listId: subject.listId ?? null, ...replaced })
  publishRelease(ctx.db, workspaceId)
}

const repetitionMs = 10 * 60_000

interface KnownMails {
  /** One was sent to the address within ten minutes, or is about to be. */
  isSent: boolean
  /** One to the address waits, and its link will do what was asked. It was counted when the visitor asked. */
  waiting: { id: MailId; createdAt: Timestamp } | undefined
  /** None to the address was sent, and none will be: the next one need not wait ten minutes. */
  areVoid: boolean
}

/**
 * Locks the mails about the same that wait, or were released within ten minutes: the quotas of an address count from the
 * request, and a mail may be sent long after it. `isRefused` tells whether the link of a mail of a moment does nothing any
 * more: such a mail is not sent.
 */
export async function lockVisitorMails(
  ctx: Ctx,
  subject: VisitorMailSubject,
  { email, isRefused }: { email: string; isRefused: (issuedAt: Timestamp) => boolean },
): Promise<KnownMails> {
  const { id, status, releases, releasedAt } = visitorMails
  const recently = timestampAt(Date.now() - repetitionMs)
  const rows = await ctx.db
    .select({ id, status, releases, releasedAt })
    .from(visitorMails)
    .where(and(isAbout(ctx, subject), or(isWaiting, gt(releasedAt, recently))))
    .orderBy(visitorMails.createdAt, visitorMails.id)
    .for('update')
  const known: KnownMails = { isSent: false, waiting: undefined, areVoid: false }
  for (const { id, status, createdAt } of await findMailsTo(ctx, rows, email)) {
    const row = rows.find((one) => one.id === id)
    const wasReleased = row?.releasedAt && row.releasedAt > recently && row.releases > 0
    if (status !== 'PENDING' ? !wasReleased : isRefused(createdAt)) known.areVoid = true
    else if (wasReleased || row?.status === 'RELEASED') known.isSent = true
    else known.waiting = { id, createdAt }
  }
  return known
}

async function findMailsTo(ctx: Ctx, rows: readonly { id: MailId }[], email: string) {
  if (rows.length === 0) return []
  const isOneOf = inArray(
    mails.id,
    rows.map(({ id }) => id),
  )
  const isToAddress = sql`lower(${mails.toAddress} collate "C") = lower(${email} collate "C")`
  return ctx.db
    .select({ id: mails.id, status: mails.status, createdAt: mails.createdAt })
    .from(mails)
    .where(and(eq(mails.workspaceId, ctx.workspaceId), isOneOf, isToAddress))
}

/** Replaces the mails about the same that were not released. Returns the place and the status of one that waits. */
export async function replaceWaitingMail(
  ctx: Ctx,
  subject: VisitorMailSubject,
): Promise<{ status: 'WAITING' | 'WITHHELD'; createdAt: Timestamp } | undefined> {
  // Read in the same order of locks as a release: first these rows, then the mails.
  const rows = await ctx.db
    .select({ id: visitorMails.id, status: visitorMails.status, createdAt: visitorMails.createdAt })
    .from(visitorMails)
    .where(and(isAbout(ctx, subject), inArray(visitorMails.status, ['WAITING', 'WITHHELD', 'GIVEN_UP'])))
    .orderBy(visitorMails.createdAt, visitorMails.id)
    .for('update')
  if (rows.length === 0) return undefined
  await endVisitorMails(ctx, rows, { status: 'REPLACED' })
  const waiting = rows.find(({ status }) => status !== 'GIVEN_UP')
  return waiting && { status: waiting.status === 'WITHHELD' ? 'WITHHELD' : 'WAITING', createdAt: waiting.createdAt }
}

const reasons = {
  REPLACED: 'No longer needed: replaced by a later email, or its contact or subscription is gone',
  GIVEN_UP: 'Withheld: more emails than the budget of the workspace allowed were requested',
}

interface VisitorMailEnd {
  status: keyof typeof reasons
  /** Of the mail. Default: FAILED, with the reason. */
  outcome?: Required<Pick<typeof mails.$inferInsert, 'status' | 'error'>>
}

/** Ends locked visitor mails that are not released, and their mails. */
export async function endVisitorMails(
  ctx: WorkScope,
  rows: readonly { id: MailId }[],
  { status, outcome = { status: 'FAILED', error: reasons[status] } }: VisitorMailEnd,
): Promise<void> {
  const uuids = rows.map(({ id }) => uuidOf(id))
  if (uuids.length === 0) return
  await ctx.db
    .update(visitorMails)
    .set({ status })
    .where(isOneOf(visitorMails, ctx, uuids))
  await ctx.db
    .update(mails)
    .set({ ...outcome, endedAt: timestampNow() })
    .where(and(isOneOf(mails, ctx, uuids), eq(mails.status, 'PENDING')))
}

/** Gives up the next of what waits for a deleted list. Returns whether there was any. */
export async function giveUpMailsOfList(ctx: Ctx, listId: ListId, limit: number): Promise<boolean> {
  const { id, createdAt } = visitorMails
  const rows = await ctx.db
    .select({ id })
    .from(visitorMails)
    .where(and(eq(visitorMails.workspaceId, ctx.workspaceId), eq(visitorMails.listId, listId), isWaiting))
    .orderBy(createdAt, id)
    .limit(limit)
    .for('update')
  await endVisitorMails(ctx, rows, { status: 'GIVEN_UP' })
  return rows.length > 0
}

/**
 * Erases contacts from what is counted, and ends the mails to them that wait. `deleteMails` runs in between: the record of
 * an outcome locks its mail before what is counted for it.
 */
export async function forgetVisitorMails(
  ctx: Ctx,
  contactIds: readonly ContactId[],
  deleteMails: () => Promise<void> = async () => {},
): Promise<void> {
  const ofContact = and(eq(visitorMails.workspaceId, ctx.workspaceId), inArray(visitorMails.contactId, [...contactIds]))
  const unreleased = await ctx.db
    .select({ id: visitorMails.id })
    .from(visitorMails)
    .where(and(ofContact, ne(visitorMails.status, 'RELEASED')))
    .orderBy(visitorMails.createdAt, visitorMails.id)
    .for('update')
  await endVisitorMails(ctx, unreleased, { status: 'REPLACED' })
  await deleteMails()
  await ctx.db.update(visitorMails).set({ contactId: null }).where(ofContact)
}

/** Counts the use of a link for the budget: once for each mail that was released. */
export async function recordUsedLink(ctx: Ctx, subject: VisitorMailSubject): Promise<void> {
  const latest = ctx.db
    .select({ id: visitorMails.id })
    .from(visitorMails)
    .where(and(isAbout(ctx, subject), gt(visitorMails.releases, 0), isNull(visitorMails.usedAt)))
    .orderBy(sql`${visitorMails.createdAt} desc`)
    .limit(1)
  await ctx.db
    .update(visitorMails)
    .set({ usedAt: timestampNow() })
    .where(and(eq(visitorMails.workspaceId, ctx.workspaceId), inArray(visitorMails.id, latest)))
}

/**
 * Makes a released mail wait again, whose attempt may have sent it: the next attempt may be a second mail, and is counted
 * as one. Returns false if the mail has no budget.
 */
export async function returnToBudget({ db, workspaceId }: WorkScope, id: MailId): Promise<boolean> {
  const returned = await db
    .update(visitorMails)
    .set({ status: 'WAITING' })
    .where(and(eq(visitorMails.workspaceId, workspaceId), eq(visitorMails.id, id), eq(visitorMails.status, 'RELEASED')))
    .returning({ id: visitorMails.id })
  if (returned.length > 0) publishRelease(db, workspaceId)
  return returned.length > 0
}

/** Gives back what was counted for an attempt that sent nothing. */
export async function refundRelease(ctx: Ctx, id: MailId): Promise<void> {
  await ctx.db
    .update(visitorMails)
    .set({ releases: sql`${visitorMails.releases} - 1` })
    .where(and(byId(visitorMails, ctx, id), eq(visitorMails.status, 'RELEASED'), gt(visitorMails.releases, 0)))
}

function isAbout(ctx: Ctx, { kind, contactId, listId }: VisitorMailSubject): SQL | undefined {
  return and(
    eq(visitorMails.workspaceId, ctx.workspaceId),
    eq(visitorMails.kind, kind),
    eq(visitorMails.contactId, contactId),
    listId ? eq(visitorMails.listId, listId) : isNull(visitorMails.listId),
  )
}

/** Deletes up to 1,000 rows that no budget counts any more. Returns their number. */
export async function purgeVisitorMails(db: Db): Promise<number> {
  const isOld = lt(visitorMails.createdAt, sql`now() - interval '30 days'`)
  return purgeRows(db, visitorMails, and(isOld, not(isWaiting)))
}
