import { type SQL, sql } from 'drizzle-orm'

/**
 * A FROM item `given (id)` with the ids of an array, of which the planner expects one: it expects a limit that it does
 * not know to keep a tenth of the ten. With `id = any(…)`, or with more expected ids, a prepared statement reads all rows
 * of the workspace instead, if most workspaces have fewer rows than that.
 */
export const givenIds = (ids: SQL): SQL =>
  sql`(select id from unnest(${ids}) as ids (id) limit cardinality(${ids})) as given`
