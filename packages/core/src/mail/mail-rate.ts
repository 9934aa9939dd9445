import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'

/**
 * Reserves the next `count` places in the line of mails, which moves on by `perSecond` over all workers, and answers in
 * how many milliseconds the first of them may leave. By the database's clock (a leaky bucket, as in GCRA).
 */
export async function reserveMailSlots(db: Db, count: number, perSecond: number): Promise<number> {
  const result = await db.execute<{ wait: number }>(sql`
    insert into mail_pace as pace (id, next_at)
    values (1, clock_timestamp() + ${count / perSecond}::float8 * interval '1 second')
    on conflict (id) do update
    set next_at = greatest(pace.next_at, clock_timestamp()) + ${count / perSecond}::float8 * interval '1 second'
    returning extract(epoch from next_at - clock_timestamp())::float8 * 1000 as wait`)
  const untilAfterLast = result.rows[0]?.wait ?? 0
  return Math.max(0, untilAfterLast - (count / perSecond) * 1000)
}
