/** Advisory locks by name, which end with the transaction. */
import { sql } from 'drizzle-orm'
import { namedStatement } from './named-statement.ts'
import { arrayOf, bool, text } from './sql-types.ts'

const lock = namedStatement('lock a name', {
  isPrepared: true,
  params: { name: text },
  sql: ({ name }) => sql`select from pg_advisory_xact_lock(hashtextextended(${name}, 0))`,
})

const tryLock = namedStatement('try to lock a name', {
  params: { name: text },
  columns: { isLocked: bool },
  sql: ({ name }) => sql`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as is_locked`,
})

const lockSeveral = namedStatement('lock names', {
  isPrepared: true,
  params: { names: arrayOf(text) },
  sql: ({ names }) => sql`
    select from (
      select pg_advisory_xact_lock(key) from (
        select distinct hashtextextended(name, 0) as key from unnest(${names}) as given (name)
        order by key) as ordered) as locked`,
})

/** The same for several names, in one order for all transactions. */
export async function lockNames(db: Parameters<typeof lock>[0], names: readonly string[]): Promise<void> {
  await lockSeveral(db, { names })
}

/** Waits until no other transaction has locked the name. */
export async function lockName(db: Parameters<typeof lock>[0], name: string): Promise<void> {
  await lock(db, { name })
}

/** Returns false if another transaction has locked the name. */
export async function tryLockName(db: Parameters<typeof tryLock>[0], name: string): Promise<boolean> {
  const [result] = await tryLock(db, { name })
  return result?.isLocked ?? false
}
