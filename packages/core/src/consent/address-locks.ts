import { type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import { composedStatement } from '../db/statements/named-statement.ts'
import { timestamptz } from '../db/statements/sql-types.ts'
import { uuidOf } from '../kernel/ids.ts'
import { emailKey } from '../kernel/values/email-key.ts'
import type { Ctx } from '../request/context.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'

/** Readings of PostgreSQL's clock. Those of several APIs may differ, and decide nothing here. */
export interface Moments {
  /** Since all addresses are locked. */
  now: Timestamp
  /** When the transaction started: the moment of every mail that it asks for. */
  startedAt: Timestamp
}

export type LockMode = 'shared' | 'exclusive'

/**
 * Locks addresses until the transaction ends: `exclusive` to write their suppressions, `shared` to subscribe them.
 * Otherwise a contact that another transaction is creating could be subscribed while its address is suppressed, because
 * neither transaction sees the row of the other one. All writers lock the contacts first, then the list, then every
 * address in one call. The addresses of a workspace share 64 locks, so that a chunk of an import needs few.
 */
export async function lockAddresses(ctx: Ctx, emails: readonly string[], mode: LockMode): Promise<Moments> {
  const numbers = sql`
    select hashtext(email) & 63 from unnest(${sql.param(emails.map(emailKey))}::text[]) as address (email)`
  const rows = await readClock(
    ctx.db,
    emails.length === 0
      ? sql`select ${moment(sql`clock_timestamp()`)} as now, ${moment(sql`now()`)} as started_at`
      : lockNumbers(ctx, numbers, mode),
  )
  const last = rows.at(-1)
  if (!last) throw new Error('PostgreSQL returned no time')
  return last
}

/** Locks all addresses of the workspace, for a row whose address is not known. */
export async function lockEveryAddress(ctx: Ctx): Promise<void> {
  await readClock(ctx.db, lockNumbers(ctx, sql`select generate_series(0, 63)`, 'exclusive'))
}

function lockNumbers(ctx: Ctx, numbers: SQLWrapper, mode: LockMode): SQL {
  const lock = sql.raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock')
  return sql`
    select now, started_at from (
      select ${lock}(key), ${moment(sql`clock_timestamp()`)} as now, ${moment(sql`now()`)} as started_at from (
        select distinct hashtextextended(${`suppressions ${uuidOf(ctx.workspaceId)}`}, number) as key
        from (${numbers}) as addresses (number)
        order by key) as ordered) as locked`
}

/** Rounded as columns are, so that they compare. */
const moment = (value: SQLWrapper) => sql`${value}::timestamptz(3)`

const readClock = composedStatement('lock addresses', { columns: { now: timestamptz, startedAt: timestamptz } })
