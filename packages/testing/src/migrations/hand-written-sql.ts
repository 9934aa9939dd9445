/** What the schema needs and drizzle-kit cannot generate. `remakeMigration` adds it to the generated SQL. */

/** Before the first table. */
const prologue = `-- Search by parts of words, and indexes that start with the workspace.
CREATE EXTENSION IF NOT EXISTS pg_trgm;--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS btree_gin;--> statement-breakpoint
-- Search without regard to case and accents. "C" lowers ASCII letters, so that the collation tr-TR does not turn I into a
-- dotless i. An index takes only an IMMUTABLE function, and unaccent() is STABLE, because
-- its dictionary can be replaced. A body of this form is stored with resolved names, so it works with any search_path, as
-- during the restore of a dump.
CREATE EXTENSION IF NOT EXISTS unaccent;--> statement-breakpoint
CREATE FUNCTION fold_text(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN lower(lower(unaccent('unaccent'::regdictionary, value) COLLATE "C") COLLATE "default");--> statement-breakpoint
`

/** After the last statement. */
const epilogue = `--> statement-breakpoint
-- The first partitions accept every id. \`migrate\` and the worker split them: see packages/core/src/db/partitions.ts.
CREATE TABLE "events_past" PARTITION OF "events" FOR VALUES FROM (MINVALUE) TO (MAXVALUE);--> statement-breakpoint
CREATE TABLE "deliveries_past" PARTITION OF "deliveries" FOR VALUES FROM (MINVALUE) TO (MAXVALUE);--> statement-breakpoint
-- Ids do not compress: an attempt takes half of the time of a send to a million contacts.
ALTER TABLE "campaign_batches" ALTER COLUMN "contact_ids" SET STORAGE EXTERNAL;
`

/** What follows the columns of a table. */
const tableOptions = {
  events: 'PARTITION BY RANGE ("id")',
  deliveries: 'PARTITION BY RANGE ("id")',
  webhook_health: 'WITH (fillfactor = 50)',
}

/** Foreign keys of which one column becomes null when the referenced row is deleted: the workspace must stay. */
const emptiedColumns = {
  campaigns_list_fk: 'list_id',
  forms_list_fk: 'list_id',
}

/** Returns the generated SQL with the hand-written parts. Throws if it has no place for one of them. */
export function addHandWrittenSql(generated: string): string {
  let body = generated
  for (const [table, options] of Object.entries(tableOptions)) {
    body = replaceOnce(body, new RegExp(`^(CREATE TABLE "${table}" \\(\\n(?:\\t.*\\n)+\\));$`, 'm'), `$1 ${options};`)
  }
  for (const [key, column] of Object.entries(emptiedColumns)) {
    const [action, emptied] = [
      new RegExp(`(ADD CONSTRAINT "${key}" .* ON DELETE) (?:no action|set null)`),
      `SET NULL ("${column}")`,
    ]
    body = replaceOnce(body, action, `$1 ${emptied}`)
  }
  return `${prologue}${body}${epilogue}`
}

function replaceOnce(text: string, pattern: RegExp, replacement: string): string {
  if (!pattern.test(text)) throw new Error(`The generated migration has nothing that matches ${pattern.source}`)
  return text.replace(pattern, replacement)
}
