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

const campaignBucket = 1
const singleBucket = 2

/** Reserves the next `count` slots for a campaign. Returns the milliseconds until the first mail may be sent. */
export async function reserveMailSlots(db: Db, count: number, perSecond: number): Promise<number> {
  return toWaitMs(await db.execute<Reserved>(reserve(campaignBucket, count / perSecond)), count / perSecond)
}

/** Reserves a slot for a single mail. Returns the milliseconds until it may be sent. */
export async function reserveSingleMailSlot(db: Db, perSecond: number): Promise<number> {
  const seconds = 1 / perSecond
  const result = await db.execute<Reserved>(sql`
    with campaigns as (${reserve(campaignBucket, seconds)})
    ${reserve(singleBucket, seconds)}`)
  return toWaitMs(result, seconds)
}

interface Reserved extends Record<string, unknown> {
  /** The milliseconds until the end of the reserved time. */
  wait: number
}

const reserve = (bucket: number, seconds: number): SQL => sql`
  insert into mail_pace as rate (id, next_at)
  values (${bucket}::bigint, clock_timestamp() + ${seconds}::float8 * interval '1 second')
  on conflict (id) do update
  set next_at = greatest(rate.next_at, clock_timestamp()) + ${seconds}::float8 * interval '1 second'
  returning extract(epoch from next_at - clock_timestamp())::float8 * 1000 as wait`

const toWaitMs = ({ rows }: { rows: Reserved[] }, seconds: number) => Math.max(0, (rows[0]?.wait ?? 0) - seconds * 1000)
