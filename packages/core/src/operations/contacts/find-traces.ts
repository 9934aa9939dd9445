/** What is left of a person, in a database and its queues or in one workspace: the receipt of an erasure. */
import { type SQL, sql } from 'drizzle-orm'
import type pg from 'pg'
import { withConnection } from '../../backups/connection.ts'
import type { Db } from '../../db/client.ts'
import { composedStatement, namedStatement } from '../../db/statements/named-statement.ts'
import { arrayOf, bool, text } from '../../db/statements/sql-types.ts'
import { transaction } from '../../db/transaction.ts'
import { type ContactId, uuidOf } from '../../kernel/ids.ts'
import { addressPattern, escapeLike, escapeRegExp } from '../../kernel/values/encode-text.ts'
import type { Ctx } from '../../request/context.ts'
import { queueSchema } from '../../work/queues.ts'

/** A column in which a person is found. */
export interface Trace {
  /** With its schema, unless that is `public`: `contacts`, `bullmq.job`. */
  table: string
  column: string
  rows: number
}

/**
 * The texts that name a person: the id of the contact, its UUID, and the address as it is, in a URL, in HTML, in
 * quoted-printable, and in base64 at each of the three offsets. All in lower case, as texts are compared without case.
 */
export function spellingsOf(person: { contactId?: ContactId | undefined; email?: string | undefined }): string[] {
  const { contactId, email } = person
  const ofId = contactId === undefined ? [] : [contactId, uuidOf(contactId)]
  return [
    ...new Set([...ofId, ...(email === undefined ? [] : spellingsOfEmail(email))].map((one) => one.toLowerCase())),
  ]
}

function spellingsOfEmail(email: string): string[] {
  const at = ['@', '%40', '%2540', '&#64;', '&#x40;', '=40', '\\u0040'].map((sign) => email.replace('@', sign))
  return [...at, encodeURIComponent(email), ...inBase64(email)]
}

/** The characters that the neighbors of a text do not affect, at each offset from a group of three bytes. */
function inBase64(content: string): string[] {
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.from('\0'.repeat(offset) + content).toString('base64url')
    const end = Math.floor(((offset + Buffer.byteLength(content)) * 8) / 6)
    return encoded.slice(Math.ceil((offset * 8) / 6), end)
  })
}

export interface Traces {
  tables: number
  traces: Trace[]
}

/** Searches every column of every table, without a timeout. Returns the number of tables too. */
export function findTraces(databaseUrl: string, spellings: readonly string[]): Promise<Traces> {
  return withConnection(databaseUrl, async ($client) => {
    const tables = await listTables({ $client })
    return await searchTables(tables, spellings, (table, counts) => countInTable($client, table, counts))
  })
}

/**
 * Searches the rows of one workspace. Accounts and queues belong to none, and are not read. A statement that runs at the
 * deadline of the whole search ends there with an error. Not within a transaction.
 */
export async function findWorkspaceTraces(ctx: Ctx, spellings: readonly string[], deadlineMs: number): Promise<Traces> {
  const startedAt = performance.now()
  const tables = [...(await listTables(ctx.db))].filter(([, columns]) =>
    columns.some(({ column }) => column === 'workspace_id'),
  )
  return await searchTables(new Map(tables), spellings, (table, counts) => {
    const leftMs = Math.ceil(startedAt + deadlineMs - performance.now())
    const count = (db: Db) => countInWorkspace({ ...ctx, db }, table, counts)
    return transaction(ctx.db, count, { statement_timeout: String(Math.max(1, leftMs)) })
  })
}

interface ColumnFacts {
  table: string
  column: string
  isBinary: boolean
}
type Counted = Promise<{ counts: readonly string[] }[]>

const listTables = async (db: Parameters<typeof selectColumns>[0]) =>
  Map.groupBy(await selectColumns(db, { queueSchema }), ({ table }) => table)

async function countInTable($client: pg.ClientBase, table: string, counts: SQL): Counted {
  return await countTraces({ $client }, sql`select ${counts} from ${toIdentifier(table)}`)
}

async function countInWorkspace({ db, workspaceId }: Ctx, table: string, counts: SQL): Counted {
  const isOfWorkspace = sql`workspace_id = ${uuidOf(workspaceId)}::uuid`
  return await countTraces(db, sql`select ${counts} from ${toIdentifier(table)} where ${isOfWorkspace}`)
}

async function searchTables(
  tables: ReadonlyMap<string, readonly ColumnFacts[]>,
  spellings: readonly string[],
  count: (table: string, counts: SQL) => Counted,
): Promise<Traces> {
  const traces: Trace[] = []
  for (const [table, columns] of tables) {
    const [counted] = await count(table, countsOf(columns, spellings))
    for (const [index, { column }] of columns.entries()) {
      const rows = Number(counted?.counts[index] ?? 0)
      if (rows > 0) traces.push({ table, column, rows })
    }
  }
  return { tables: tables.size, traces }
}

/** Whether a text is an address as `spellingsOfEmail` spells it, except in base64. */
const isAddress = (spelling: string) => /^[\p{L}\p{N}]\S*[@%&=\\]\S*[\p{L}\p{N}]$/u.test(spelling)

/** How many rows have one of the spellings, of each column. */
function countsOf(columns: readonly ColumnFacts[], spellings: readonly string[]): SQL {
  // LIKE is faster, and leaves little to the regular expressions.
  const likes = sql.param(spellings.map((spelling) => `%${escapeLike(spelling)}%`))
  const patterns = sql.param(spellings.map((one) => (isAddress(one) ? addressPattern(one) : escapeRegExp(one))))
  // Turkish collations lower `INFO@` to other letters, and "C" none beyond ASCII: an address needs both only if it has these.
  const collations = spellings.every((spelling) => isAscii(spelling)) ? [sql`"C"`] : [sql`"default"`, sql`"C"`]
  const counts = columns.map(({ column, isBinary }) => {
    const name = sql.identifier(column)
    const content = isBinary ? sql`encode(${name}, 'escape')` : sql`${name}::text`
    const isFound = collations.map((collation) => {
      const lowered = sql`lower((${content}) collate ${collation})`
      return sql`(${lowered} like any(${likes}::text[]) and ${lowered} ~ any(${patterns}::text[]))`
    })
    return sql`count(*) filter (where ${sql.join(isFound, sql` or `)})`
  })
  return sql`array[${sql.join(counts, sql`, `)}]::text[] as counts`
}

const isAscii = (text: string) => Buffer.byteLength(text) === text.length

const toIdentifier = (table: string) =>
  sql.join(
    table.split('.').map((part) => sql.identifier(part)),
    sql`.`,
  )

const countTraces = composedStatement('count the traces of a person', { columns: { counts: arrayOf(text) } })

/** Partitions are read through their parent. */
const selectColumns = namedStatement('list columns', {
  params: { queueSchema: text },
  columns: { table: text, column: text, isBinary: bool },
  sql: (param) => sql`
    select case when n.nspname = 'public' then '' else n.nspname || '.' end || c.relname as "table",
      a.attname::text as "column", a.atttypid = 'bytea'::regtype as is_binary
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', ${param.queueSchema}) and c.relkind in ('r', 'p') and not c.relispartition
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    order by n.nspname <> 'public', c.relname, a.attnum`,
})
