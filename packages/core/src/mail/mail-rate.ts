import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'

/**
 * Reserves the next `count` slots of the mail rate limit, which all workers share. Returns the milliseconds until the
 * first mail may be sent. A leaky bucket (GCRA) that uses the clock of the database.
 */
export async function reserveMailSlots(db: Db, count: number, perSecond: number): Promise<number> {
  const result = await db.execute<{ wait: number }>(sql`
    insert into mail_pace as rate (id, next_at)
    values (1, clock_timestamp() + ${count / perSecond}::float8 * interval '1 second')
    on conflict (id) do update
    set next_at = greatest(rate.next_at, clock_timestamp()) + ${count / perSecond}::float8 * interval '1 second'
    returning extract(epoch from next_at - clock_timestamp())::float8 * 1000 as wait`)
  const untilAfterLast = result.rows[0]?.wait ?? 0
  return Math.max(0, untilAfterLast - (count / perSecond) * 1000)
}
