import { Readable } from 'node:stream'
import { sql } from 'drizzle-orm'
import { audit } from '../../audit/audit.ts'
import { openSnapshot } from '../../db/snapshot.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { contacts } from '../../db/schema/index.ts'
import { contactColumns, toContact } from '../contact-record.ts'
import { contactFilter } from '../listing/list-contacts.ts'
import type { Contact, ExportQuery } from '../contacts.schema.ts'
import { readCustomFields } from '../custom-fields/custom-fields.ts'
import { csvHeader, toCsv } from './contact-csv.ts'

/** Streams all contacts that match the filters, oldest first, from one snapshot and in constant memory. */
export async function exportContacts(ctx: Ctx, query: ExportQuery): Promise<Readable> {
  const where = await inTransaction(ctx, async (ctx) => {
    await audit(ctx, 'contacts.exported', { format: query.format })
    return contactFilter(ctx, query)
  })
  const format = query.format === 'csv' ? await csvFormat(ctx) : ndjsonFormat
  const source = sql`from ${contacts} where ${where} order by ${contacts.createdAt}, ${contacts.id}`
  const snapshot = await openSnapshot(ctx, contactColumns(ctx), source)

  const readLines = async () => {
    const rows = await snapshot.readPage()
    return rows.length > 0 ? format.toLines(rows.map(toContact)) : null
  }
  const lines = new Readable({
    read() {
      readLines().then(
        (page) => this.push(page),
        (error: unknown) => this.destroy(error as Error),
      )
    },
    destroy(error, done) {
      snapshot.close()
      done(error)
    },
  })
  if (format.header) lines.push(format.header)
  return lines
}

interface ExportFormat {
  header: string
  toLines(contacts: readonly Contact[]): string
}

const ndjsonFormat: ExportFormat = {
  header: '',
  toLines: (contacts) => contacts.map((contact) => `${JSON.stringify(contact)}\n`).join(''),
}

async function csvFormat(ctx: Ctx): Promise<ExportFormat> {
  const customFields = [...(await readCustomFields(ctx)).keys()]
  return { header: csvHeader(customFields), toLines: (contacts) => toCsv(contacts, customFields) }
}
