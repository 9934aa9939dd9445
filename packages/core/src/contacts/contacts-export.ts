import { type Readable, Transform } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { copyOut } from '../copy-out.ts'
import { type Ctx, inTransaction } from '../context.ts'
import { contacts } from '../schema.ts'
import { contactFilter } from './contacts-list.ts'
import type { Contact, ExportQuery } from './contacts.schema.ts'
import { readCustomFields } from './custom-fields.ts'

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
  const isCsv = query.format === 'csv'
  const fields = named(isCsv ? await csvFields(ctx) : jsonFields)
  const rows = sql`select ${fields} from ${contacts} where ${where} order by ${contacts.createdAt}, ${contacts.id}`
  const source = isCsv
    ? await copyOut(ctx, rows, 'format csv, header')
    : await copyOut(ctx, sql`select row_to_json(contact) from (${rows}) contact`, rawLines)
  const lines = source.pipe(writeIds())
  source.once('error', (error) => lines.destroy(error))
  lines.once('close', () => source.destroy())
  return lines
}

/** A JSON line holds none of these two, so that COPY hands it on untouched. */
const rawLines = `format csv, quote E'\\x02', delimiter E'\\x03'`

/** Stands before each id. No text of a contact can hold it, and neither CSV nor JSON escapes it. */
const marker = 0x7f
const markedId = sql`E'\\x7f' || ${contacts.id}::text`

const timestamp = (column: SQLWrapper) => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const jsonFields = {
  id: markedId,
  email: contacts.email,
  firstName: contacts.firstName,
  lastName: contacts.lastName,
  phone: contacts.phone,
  company: contacts.company,
  customFieldValues: contacts.customFieldValues,
  tags: contacts.tags,
  emailSubscribedStatus: contacts.emailSubscribedStatus,
  lastActivityAt: timestamp(contacts.lastActivityAt),
  source: contacts.source,
  createdAt: timestamp(contacts.createdAt),
  updatedAt: timestamp(contacts.updatedAt),
} satisfies Record<keyof Contact, SQLWrapper>

async function csvFields(ctx: Ctx): Promise<Record<string, SQLWrapper>> {
  const fields = await readCustomFields(ctx)
  const custom = [...fields.keys()].map((key) => [
    `customField.${key}`,
    safeCell(sql`${contacts.customFieldValues} ->> ${key}::text`),
  ])
  const { customFieldValues: _, ...others } = jsonFields
  return {
    ...others,
    email: safeCell(contacts.email),
    firstName: safeCell(contacts.firstName),
    lastName: safeCell(contacts.lastName),
    phone: safeCell(contacts.phone),
    company: safeCell(contacts.company),
    tags: safeCell(joinedTags),
    source: safeCell(contacts.source),
    ...(Object.fromEntries(custom) as Record<string, SQL>),
  }
}

const named = (fields: Record<string, SQLWrapper>) =>
  sql.join(
    Object.entries(fields).map(([name, value]) => sql`${value} as ${sql.identifier(name)}`),
    sql`, `,
  )

/** By semicolons; a tag that holds a separator or a quotation mark is quoted as a cell would be. */
const joinedTags = sql`case when array_to_string(${contacts.tags}, '') ~ '[",;]' then (
    select string_agg(case when tag ~ '[",;]' then '"' || replace(tag, '"', '""') || '"' else tag end, ';' order by place)
    from unnest(${contacts.tags}) with ordinality as tags (tag, place))
  else array_to_string(${contacts.tags}, ';') end`

const formulaStarts = sql.raw(Array.from('=+-@\t\r', (sign) => sign.charCodeAt(0)).join(', '))

/** OWASP's rule against formula injection. By the number of the first letter, as comparing texts costs far more. */
function safeCell(value: SQLWrapper): SQL {
  return sql`case when ascii(${value}) in (${formulaStarts}) then '''' || (${value}) else (${value}) end`
}

const uuidLength = 36
const prefix = Buffer.from('con_')
const alphabet = Buffer.from('0123456789abcdefghjkmnpqrstvwxyz')
const hyphen = 0x2d

/**
 * `idOf` straight from bytes to bytes: there two thirds of an export's time would go, in which the API answers nobody
 * else. 128 bits, led by two zeros, five in a letter. Answers where the id ends.
 */
function writeId(uuid: Buffer, target: Buffer, start: number): number {
  let end = start + prefix.copy(target, start)
  let bits = 0
  let pending = 2
  for (const digit of uuid) {
    if (digit === hyphen) continue
    // '0' to '9' are 0x30 to 0x39, 'a' to 'f' are 0x61 to 0x66.
    bits = ((bits << 4) | ((digit & 15) + (digit > 0x39 ? 9 : 0))) & 0xff
    pending += 4
    if (pending < 5) continue
    pending -= 5
    target[end++] = alphabet[(bits >> pending) & 31] ?? 0
  }
  return end
}

/** A millisecond; and when that took longer, since the processors have more to do than they can, twice the delay. */
async function yieldToOthers(): Promise<void> {
  const startedAt = performance.now()
  await sleep(1)
  const lateMs = performance.now() - startedAt - 1
  if (lateMs > 0.5) await sleep(Math.min(Math.ceil(2 * lateMs), longestPauseMs))
}

const longestPauseMs = 5

/** Writes the ids as the API does. Works on whatever pieces the rows come in. */
function writeIds(): Transform {
  let rest = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      // An id is shorter than its UUID, so that there is room.
      const written = Buffer.allocUnsafe(bytes.length)
      let length = 0
      let from = 0
      for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, from)) {
        const end = at + 1 + uuidLength
        if (end > bytes.length) break
        length += bytes.copy(written, length, from, at)
        length = writeId(bytes.subarray(at + 1, end), written, length)
        from = end
      }
      const cut = bytes.indexOf(marker, from)
      const end = cut < 0 ? bytes.length : cut
      length += bytes.copy(written, length, from, end)
      rest = Buffer.from(bytes.subarray(end))
      // Between two pieces other requests have their turn, and PostgreSQL, who must wait too, leaves them the processor.
      yieldToOthers().then(() => done(null, written.subarray(0, length)), done)
    },
  })
}
