/**
 * The quotas of single mails. Each requested mail is recorded with a hash of its address, and the record outlives the
 * contact, the list and the invite. All forms of an address count together: see `normalizeAddress`. Password resets and
 * verifications have limits of their own.
 */
import { createHmac } from 'node:crypto'
import { and, desc, eq, gt, inArray, isNull, lt, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { givenIds } from '../db/given-ids.ts'
import { lockName, lockNames } from '../db/statements/advisory-locks.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
import { arrayOf, int, text } from '../db/statements/sql-types.ts'
import { mailRequests } from '../db/schema/index.ts'
import { AppError } from '../kernel/errors.ts'
import { type ListId, newId, uuidOf } from '../kernel/ids.ts'
import { lockQuotas, quotaExceeded } from '../quotas/require-quota.ts'
import type { Ctx } from '../request/context.ts'
import type { MailKind, RequestedMailKind } from './mails.ts'
import { normalizeAddress } from './normalize-address.ts'

const singleMailKinds = ['CAMPAIGN_TEST', 'INVITE'] as const
type SingleMailKind = (typeof singleMailKinds)[number]
const isSingleMail = inArray(mailRequests.kind, [...singleMailKinds])

const day = '1 day'
const daySeconds = 86_400

/** For invites to an address, and for confirmations to an address and a list. */
const repetitionLimits = [
  { limit: 1, window: '10 minutes' },
  { limit: 3, window: day },
]

/**
 * Records a test mail or an invite. Throws `quota_exceeded` if the workspace has reached a quota: all of these mails in
 * a day, or one kind to one address; for invites also one in 10 minutes and three a day to one address. Concurrent
 * callers wait until the transaction of the first one ends.
 */
export async function requireMailQuota(ctx: Ctx, kind: SingleMailKind, to: string): Promise<void> {
  const quotas = await lockQuotas(ctx)
  const isOfKind = and(isToAddress(ctx, to), eq(mailRequests.kind, kind))
  const retryAfterSeconds = kind === 'INVITE' ? await readRepetitionWait(ctx, isOfKind) : 0
  if (retryAfterSeconds > 0)
    throw new AppError('quota_exceeded', 'This address was invited recently', { retryAfterSeconds })
  const limits = [
    ['mailsPerAddress', isOfKind],
    ['singleMails', isSingleMail],
  ] as const
  for (const [name, condition] of limits) {
    const waitSeconds = await readWait(ctx, condition, { limit: quotas[name], window: day })
    if (waitSeconds > 0) throw quotaExceeded(name, quotas[name], waitSeconds)
  }
  await recordRequest(ctx, { kind, to })
}

const isEmail = eq(mailRequests.kind, 'EMAIL')

function countOfDay(ctx: Ctx, condition: SQL): Promise<number> {
  const { workspaceId, createdAt } = mailRequests
  const isOfDay = gt(createdAt, sql`now() - ${day}::interval`)
  return ctx.db.$count(mailRequests, and(eq(workspaceId, ctx.workspaceId), condition, isOfDay))
}

/** Counts the mails that the quota of single mails counts now. */
export const countSingleMails = (ctx: Ctx) => countOfDay(ctx, isSingleMail)
/** Counts the emails from templates that were accepted in the last day. */
export const countEmailsOfDay = (ctx: Ctx) => countOfDay(ctx, isEmail)

/** Returns the seconds until the workspace has accepted fewer than `limit` emails from templates within a day. */
export const readEmailWait = (ctx: Ctx, limit: number): Promise<number> =>
  readWait(ctx, isEmail, { limit, window: day })

/**
 * Counts the emails from templates that addresses have got within a day, which are recorded with `hashForQuotas`. Returns
 * a function that takes another one, or throws `quota_exceeded`. Concurrent callers for an address wait until the
 * transaction of the first one ends.
 */
export async function openAddressQuotas(
  ctx: Ctx,
  addresses: readonly string[],
  limit: number,
): Promise<(to: string) => Promise<void>> {
  if (limit === Infinity || addresses.length === 0) return async () => {}
  await lockNames(
    ctx.db,
    addresses.map((to) => lockOf(ctx, to)),
  )
  const hashes = [...new Set(addresses.flatMap((to) => hashAddress(ctx, to)))]
  const counts = await countEmails(ctx.db, { workspaceId: ctx.workspaceId, hashes })
  const used = new Map(counts.map(({ addressHash, count }) => [addressHash, count]))
  return async (to) => {
    const own = hashAddress(ctx, to)
    const count = own.reduce((sum, hash) => sum + (used.get(hash) ?? 0), 0)
    if (count >= limit) {
      const isOfAddress = and(isToAddress(ctx, to), isEmail)
      throw quotaExceeded(
        'emailsPerAddress',
        limit,
        (await readWait(ctx, isOfAddress, { limit, window: day })) || daySeconds,
      )
    }
    const [current = ''] = own
    used.set(current, (used.get(current) ?? 0) + 1)
  }
}

const countEmails = namedStatement('count emails of addresses', {
  isPrepared: true,
  params: { workspaceId: mailRequests.workspaceId, hashes: arrayOf(text) },
  columns: { addressHash: text, count: int },
  sql: ({ workspaceId, hashes }) => sql`
    select r.address_hash, count(*)::int as count
    from ${givenIds(hashes)} join mail_requests r on r.address_hash = given.id
    where r.workspace_id = ${workspaceId} and r.kind = 'EMAIL' and r.created_at > now() - ${sql.raw(`'${day}'`)}::interval
    group by r.address_hash`,
})

const lockOf = (ctx: Ctx, to: string) => `mail ${uuidOf(ctx.workspaceId)} ${normalizeAddress(to)}`
const lockAddress = (ctx: Ctx, to: string) => lockName(ctx.db, lockOf(ctx, to))

/** The requested mails that count together for the quota of an address. */
const countedWith: Record<RequestedMailKind, RequestedMailKind[]> = {
  CONFIRMATION: ['CONFIRMATION', 'TRACKING_CONSENT'],
  TRACKING_CONSENT: ['CONFIRMATION', 'TRACKING_CONSENT'],
  PERSONAL_DATA: ['PERSONAL_DATA'],
}

interface ConfirmationRequest {
  kind: RequestedMailKind
  listId?: ListId | undefined
  /** The quota of an address over all lists. */
  mailsPerAddress: number
  /** The links of earlier mails are void, or none was sent: the ten minutes do not count. Default: false. */
  mayFollowAtOnce?: boolean | undefined
}

/**
 * Records a mail that a person asked for. Returns false if the address has received too many: one in 10 minutes and three
 * a day of the kind, for the list if it is a confirmation; or the quota of an address over all lists. Concurrent callers for an address wait until the transaction of the first one ends. The workspace is not locked,
 * so that its visitors do not wait for each other.
 */
export async function takeConfirmationQuota(
  ctx: Ctx,
  to: string,
  { kind, listId, mailsPerAddress, mayFollowAtOnce = false }: ConfirmationRequest,
): Promise<boolean> {
  await lockAddress(ctx, to)
  const isRepeated = and(
    isToAddress(ctx, to),
    eq(mailRequests.kind, kind),
    listId ? eq(mailRequests.listId, listId) : isNull(mailRequests.listId),
  )
  const limits = mayFollowAtOnce ? repetitionLimits.slice(1) : repetitionLimits
  if ((await readRepetitionWait(ctx, isRepeated, limits)) > 0) return false
  const isCounted = and(isToAddress(ctx, to), inArray(mailRequests.kind, countedWith[kind]))
  if ((await readWait(ctx, isCounted, { limit: mailsPerAddress, window: day })) > 0) return false
  await recordRequest(ctx, { kind, to, ...(listId && { listId }) })
  return true
}

/** Returns the seconds until none of the limits is reached. */
async function readRepetitionWait(
  ctx: Ctx,
  condition: SQL | undefined,
  limits: readonly { limit: number; window: string }[] = repetitionLimits,
): Promise<number> {
  const waits: number[] = []
  for (const limit of limits) waits.push(await readWait(ctx, condition, limit))
  return Math.max(...waits)
}

/** Returns the seconds until fewer than `limit` of the mails are younger than the window; 0 if this is so now. */
async function readWait(
  ctx: Ctx,
  condition: SQL | undefined,
  { limit, window }: { limit: number; window: string },
): Promise<number> {
  if (limit === Infinity) return 0
  const { workspaceId, createdAt } = mailRequests
  const windowStart = sql`now() - ${window}::interval`
  const [last] = await ctx.db
    .select({ seconds: sql<number>`ceil(extract(epoch from ${createdAt} - (${windowStart})))::int` })
    .from(mailRequests)
    .where(and(eq(workspaceId, ctx.workspaceId), condition, gt(createdAt, windowStart)))
    .orderBy(desc(createdAt))
    .offset(limit - 1)
    .limit(1)
  return last?.seconds ?? 0
}

/** A SECRET_KEY that was replaced within the last day still counts. */
const isToAddress = (ctx: Ctx, to: string) => inArray(mailRequests.addressHash, hashAddress(ctx, to))

/** Keyed hashes of the address: with the current key, then with all former keys. */
const hashAddress = (ctx: Ctx, to: string) =>
  ctx.settings.keys.optOuts.map((key) =>
    createHmac('sha256', key)
      .update(`${ctx.workspaceId} mail ${normalizeAddress(to)}`)
      .digest('base64url'),
  )

/**
 * Records a notice to the users of the workspace. Returns false if there was one within a day. Call it where one
 * transaction at a time may send the notice.
 */
export async function takeDailyNotice(ctx: Ctx, kind: 'CONFIRMATIONS_WITHHELD', to: string): Promise<boolean> {
  if ((await readWait(ctx, eq(mailRequests.kind, kind), { limit: 1, window: day })) > 0) return false
  await recordRequest(ctx, { kind, to })
  return true
}

/** For a statement that does more: records emails from templates. */
export const recordEmails = (param: Record<'workspaceId' | 'requestIds' | 'addressHashes', SQL>): SQL => sql`
      insert into mail_requests (workspace_id, id, kind, address_hash)
      select ${param.workspaceId}, id, 'EMAIL', address_hash
      from unnest(${param.requestIds}, ${param.addressHashes}) as given (id, address_hash)`

/** The hash of an address by which an email to it is counted. */
export const hashForQuotas = (ctx: Ctx, to: string): string => hashAddress(ctx, to)[0] ?? ''

async function recordRequest(ctx: Ctx, mail: { kind: MailKind; to: string; listId?: ListId }): Promise<void> {
  await ctx.db.insert(mailRequests).values({
    workspaceId: ctx.workspaceId,
    id: newId('mai'),
    kind: mail.kind,
    addressHash: hashForQuotas(ctx, mail.to),
    listId: mail.listId ?? null,
  })
}

/** Deletes up to 1,000 records that no quota counts any more. Returns their number. */
export const purgeMailRequests = (db: Db): Promise<number> =>
  purgeRows(db, mailRequests, lt(mailRequests.createdAt, sql`now() - interval '25 hours'`))
