import { type SQL, sql, type SQLWrapper } from 'drizzle-orm'

/**
 * The condition that a column contains the text, ignoring case and accents. For tables that are small per workspace: it
 * uses no index, so a search without matches reads all rows of the workspace.
 */
export function containsText(column: SQLWrapper, text: string): SQL {
  // `strpos` has no wildcards that would have to be escaped.
  return sql`strpos(fold_text(${column}), fold_text(${text})) > 0`
}
