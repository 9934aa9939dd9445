import { type Readable, Transform } from 'node:stream'
import { type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import { copyOut } from '../copy-out.ts'
import type { Ctx } from '../context.ts'
import { idOf } from '../ids.ts'
import { contacts } from '../schema.ts'
import { contactFilter } from './contacts-list.ts'
import type { ExportQuery } from './contacts.schema.ts'
import { readCustomFields } from './custom-fields.ts'

/**
 * Streams every contact that the filters leave, oldest first, as one snapshot saw them, with flat memory. CSV: RFC 4180
 * with a header, a column for each custom field, cells that a spreadsheet would take for a formula made harmless by an
 * apostrophe. NDJSON: a contact a line, as the API shows it.
 */
export async function exportContacts(ctx: Ctx, query: ExportQuery): Promise<Readable> {
  const where = await contactFilter(ctx, query)
  const columns = query.format === 'csv' ? await csvColumns(ctx) : jsonLine
  const rows = sql`select ${columns} from ${contacts} where ${where} order by ${contacts.createdAt}, ${contacts.id}`
  const format = query.format === 'csv' ? 'format csv, header' : rawLines
  const source = await copyOut(ctx.db, rows, format)
  const lines = source.pipe(writeIds())
  source.once('error', (error) => lines.destroy(error))
  lines.once('close', () => source.destroy())
  return lines
}

/** A JSON line holds none of these two, so that COPY hands it on untouched. */
const rawLines = `format csv, quote E'\\x02', delimiter E'\\x03'`

/** Stands before each id. No text of a contact can hold it, so that it is found without reading the rest. */
const marker = 0x01
const markedId = sql`E'\\x01' || ${contacts.id}::text`

const timestamp = (column: SQLWrapper) => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const jsonLine = sql`'{"id":"' || ${markedId} || '",' || substr(json_build_object(
  'email', ${contacts.email}, 'firstName', ${contacts.firstName}, 'lastName', ${contacts.lastName},
  'phone', ${contacts.phone}, 'company', ${contacts.company}, 'customFieldValues', ${contacts.customFieldValues},
  'tags', ${contacts.tags}, 'emailSubscribedStatus', ${contacts.emailSubscribedStatus},
  'lastActivityAt', ${timestamp(contacts.lastActivityAt)}, 'source', ${contacts.source},
  'createdAt', ${timestamp(contacts.createdAt)}, 'updatedAt', ${timestamp(contacts.updatedAt)})::text, 2)`

async function csvColumns(ctx: Ctx): Promise<SQL> {
  const fields = await readCustomFields(ctx)
  const custom = [...fields.keys()].map((key) => [
    `customField.${key}`,
    safeCell(sql`${contacts.customFieldValues} ->> ${key}::text`),
  ])
  const columns = Object.entries({
    id: markedId,
    email: safeCell(contacts.email),
    firstName: safeCell(contacts.firstName),
    lastName: safeCell(contacts.lastName),
    phone: safeCell(contacts.phone),
    company: safeCell(contacts.company),
    tags: safeCell(joinedTags),
    emailSubscribedStatus: sql`${contacts.emailSubscribedStatus}`,
    lastActivityAt: timestamp(contacts.lastActivityAt),
    source: safeCell(contacts.source),
    createdAt: timestamp(contacts.createdAt),
    updatedAt: timestamp(contacts.updatedAt),
    ...(Object.fromEntries(custom) as Record<string, SQL>),
  })
  return sql.join(
    columns.map(([name, value]) => sql`${value} as ${sql.identifier(name)}`),
    sql`, `,
  )
}

/** By semicolons; a tag that holds a separator or a quotation mark is quoted as a cell would be. */
const joinedTags = sql`case when ${contacts.tags} = '{}' then '' else (
  select string_agg(case when tag ~ '[",;]' then '"' || replace(tag, '"', '""') || '"' else tag end, ';' order by place)
  from unnest(${contacts.tags}) with ordinality as tags (tag, place)) end`

/** OWASP's rule against formula injection. */
function safeCell(value: SQLWrapper): SQL {
  return sql`case when left((${value}), 1) in ('=', '+', '-', '@', E'\\t', E'\\r') then '''' || (${value}) else (${value}) end`
}

const uuidLength = 36

/** Writes the ids as the API does. Works on whatever pieces the rows come in. */
function writeIds(): Transform {
  let rest = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      const pieces: Buffer[] = []
      let from = 0
      for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, from)) {
        if (at + 1 + uuidLength > bytes.length) break
        pieces.push(bytes.subarray(from, at), Buffer.from(idOf('con', bytes.toString('latin1', at + 1, at + 37))))
        from = at + 1 + uuidLength
      }
      const next = bytes.indexOf(marker, from)
      const end = next < 0 ? bytes.length : next
      pieces.push(bytes.subarray(from, end))
      rest = Buffer.from(bytes.subarray(end))
      done(null, Buffer.concat(pieces))
    },
  })
}
