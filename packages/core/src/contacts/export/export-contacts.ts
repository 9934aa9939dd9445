import type { Readable } from 'node:stream'
import { sql, type SQLWrapper } from 'drizzle-orm'
import { audit } from '../../audit/audit.ts'
import { copyOut } from '../../db/copy-stream.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { contacts } from '../../db/schema/index.ts'
import { contactFilter } from '../list-contacts.ts'
import type { Contact, ExportQuery } from '../contacts.schema.ts'
import { readCustomFields } from '../custom-fields/custom-fields.ts'
import type { ColumnKind } from './export-cells.ts'
import { writeCsv, writeNdjson } from './export-lines.ts'

/**
 * Streams every contact that the filters leave, oldest first, as one snapshot saw them, with flat memory. CSV: RFC 4180
 * with a header, a column for each custom field, cells that a spreadsheet would take for a formula made harmless by an
 * apostrophe. NDJSON: a contact a line, as the API shows it.
 */
export async function exportContacts(ctx: Ctx, query: ExportQuery): Promise<Readable> {
  const where = await inTransaction(ctx, async (ctx) => {
    await audit(ctx, 'contacts.exported', { format: query.format })
    return contactFilter(ctx, query)
  })
  const [columns, write] = query.format === 'csv' ? [await csvColumns(ctx), writeCsv] : [jsonColumns, writeNdjson]
  const values = sql.join(
    Object.values(columns).map(([, value]) => sql`${value}`),
    sql`, `,
  )
  const source = await copyOut(
    ctx,
    sql`select ${values} from ${contacts} where ${where} order by ${contacts.createdAt}, ${contacts.id}`,
  )
  const kinds = Object.entries(columns).map(([name, [kind]]) => [name, kind] as const)
  const lines = source.pipe(write(Object.fromEntries(kinds)))
  source.once('error', (error) => lines.destroy(error))
  lines.once('close', () => source.destroy())
  return lines
}

type Column = [kind: ColumnKind, value: SQLWrapper]

const jsonColumns = {
  id: ['id', contacts.id],
  email: ['text', contacts.email],
  firstName: ['text', contacts.firstName],
  lastName: ['text', contacts.lastName],
  phone: ['text', contacts.phone],
  company: ['text', contacts.company],
  customFieldValues: ['json', sql`${contacts.customFieldValues}::json`],
  tags: ['json', sql`array_to_json(${contacts.tags})`],
  emailSubscribedStatus: ['text', contacts.emailSubscribedStatus],
  lastActivityAt: ['moment', contacts.lastActivityAt],
  source: ['text', contacts.source],
  createdAt: ['moment', contacts.createdAt],
  updatedAt: ['moment', contacts.updatedAt],
} satisfies Record<keyof Contact, Column>

async function csvColumns(ctx: Ctx): Promise<Record<string, Column>> {
  const fields = await readCustomFields(ctx)
  const custom = [...fields.keys()].map((key): [string, Column] => [
    `customField.${key}`,
    ['text', sql`${contacts.customFieldValues} ->> ${key}::text`],
  ])
  const { customFieldValues: _, ...others } = jsonColumns
  return { ...others, tags: ['text', joinedTags], ...Object.fromEntries(custom) }
}

/** By semicolons; a tag that holds a separator or a quotation mark is quoted as a cell would be. */
const joinedTags = sql`case when array_to_string(${contacts.tags}, '') ~ '[",;]' then (
    select string_agg(case when tag ~ '[",;]' then '"' || replace(tag, '"', '""') || '"' else tag end, ';' order by place)
    from unnest(${contacts.tags}) with ordinality as tags (tag, place))
  else array_to_string(${contacts.tags}, ';') end`
