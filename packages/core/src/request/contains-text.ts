import { type SQL, sql, type SQLWrapper } from 'drizzle-orm'

/**
 * The condition that a column contains the text, ignoring case and accents. It uses no index: a
 * search without matches reads all rows of the workspace, which are few except in `deals`.
 */
export function containsText(column: SQLWrapper, text: string): SQL {
  // `strpos` has no wildcards that would have to be escaped.
  return sql`strpos(fold_text(${column}), fold_text(${text})) > 0`
}
