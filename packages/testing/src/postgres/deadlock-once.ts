import type { Db } from '@rapport/core/db/client.ts'
import { inject } from 'vitest'

/** Citus has no triggers. */
export const canDeadlock = () => inject('testServices').nodeUrls.length === 1

/** The first change of one of the tables is the victim of a deadlock. Returns whether there was one. */
export async function deadlockOnce(db: Db, tables: readonly string[], work: () => Promise<unknown>): Promise<boolean> {
  const triggers = tables.map(
    (table) => `create trigger deadlock before insert or update on ${table} for each row execute function deadlock();`,
  )
  await db.execute(`
    create sequence deadlocks;
    create function deadlock() returns trigger language plpgsql as $$
      begin if nextval('deadlocks') = 1 then raise sqlstate '40P01'; end if; return new; end $$;
    ${triggers.join('\n')}`)
  try {
    await work()
    const { rows } = await db.execute<{ is_called: boolean }>('select is_called from deadlocks')
    return rows[0]?.is_called ?? false
  } finally {
    await db.execute('drop function deadlock cascade; drop sequence deadlocks')
  }
}
