/**
 * The mail rate limit, which all workers share: two leaky buckets (GCRA) that use the clock of the database.
 *
 * Campaigns reserve the slots of a group in the first bucket. Single mails, such as password resets, reserve in the
 * second one, so they wait only for each other and not for a newsletter. Each single mail also moves the next slot of
 * the campaigns: campaigns give way, and all mails together keep the rate. Groups that were reserved before a single
 * mail are not moved, so the rate may be exceeded for the moment that their mails take.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { float, type ValuesOf } from '../db/statements/sql-types.ts'

const campaignBucket = 1
const singleBucket = 2

/** Reserves the next `count` slots for a campaign. Returns the milliseconds until the first mail may be sent. */
export async function reserveMailSlots(db: Db, count: number, perSecond: number): Promise<number> {
  const seconds = count / perSecond
  return toWaitMs(await reserveForCampaign(db, { seconds }), seconds)
}

/** Reserves the next `count` slots for single mails. Returns the milliseconds until the first one may be sent. */
export async function reserveSingleMailSlots(db: Db, count: number, perSecond: number): Promise<number> {
  const seconds = count / perSecond
  return toWaitMs(await reserveForSingle(db, { seconds }), seconds)
}

const reserve = (bucket: number, seconds: SQL): SQL => sql`
  insert into mail_rates as rate (id, next_at)
  values (${bucket}::bigint, clock_timestamp() + ${seconds} * interval '1 second')
  on conflict (id) do update
  set next_at = greatest(rate.next_at, clock_timestamp()) + ${seconds} * interval '1 second'
  returning extract(epoch from next_at - clock_timestamp())::float8 * 1000 as wait_ms`

/** `waitMs` is the time until the end of the reserved time. */
const columns = { waitMs: float }

const reserveForCampaign = namedStatement('reserve mail slots', {
  params: { seconds: float },
  columns,
  sql: ({ seconds }) => reserve(campaignBucket, seconds),
})

const reserveForSingle = namedStatement('reserve a single mail slot', {
  params: { seconds: float },
  columns,
  sql: ({ seconds }) => sql`
    with campaigns as (${reserve(campaignBucket, seconds)})
    ${reserve(singleBucket, seconds)}`,
})

const toWaitMs = ([reserved]: ValuesOf<typeof columns>[], seconds: number) =>
  Math.max(0, (reserved?.waitMs ?? 0) - seconds * 1000)
