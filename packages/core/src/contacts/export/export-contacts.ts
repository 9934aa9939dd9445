import type { Readable } from 'node:stream'
import { type SQL, sql } from 'drizzle-orm'
import { audit } from '../../audit/audit.ts'
import { openSnapshot } from '../../db/snapshot.ts'
import { invalidField } from '../../kernel/errors.ts'
import { streamPages } from '../../kernel/stream-pages.ts'
import { quotaExceeded, readQuotas } from '../../quotas/require-quota.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { contacts } from '../../db/schema/index.ts'
import { contactColumns, toContact } from '../contact-record.ts'
import { contactFilter } from '../listing/list-contacts.ts'
import type { Contact } from '../contacts.schema.ts'
import type { ExportQuery } from '../listing/contact-query.schema.ts'
import { readCustomFieldKeys } from '../../custom-fields/custom-fields.ts'
import { csvHeader, toCsv } from './contact-csv.ts'

/** An export whose client reads nothing for this long is ended: it holds a connection and a database snapshot. */
export const defaultExportIdleMs = 30_000
/** 512 kbit/s, which a slow line has: at this rate, an export of 1 GB lasts for more than four hours. */
const bytesPerMs = 64
/** A larger quota is no limit: each API process limits the exports of all workspaces. */
const maxCountedExports = 100
/** When to try again: most exports take less time. */
const retryAfterSeconds = 30

/**
 * Streams all contacts that match the filters, oldest first, from one snapshot and in constant memory. Throws
 * `quota_exceeded` if the workspace already has as many exports under way as its quota allows.
 */
export async function exportContacts(
  ctx: Ctx,
  query: ExportQuery,
  { idleMs = defaultExportIdleMs }: { idleMs?: number } = {},
): Promise<Readable> {
  if (query.bom && query.format !== 'csv') throw invalidField('bom', 'bom: is only allowed with format=csv')
  const format = query.format === 'csv' ? await csvFormat(ctx, query) : ndjsonFormat
  const snapshot = await openContacts(ctx, await inTransaction(ctx, (ctx) => contactFilter(ctx, query)))
  await audit(ctx, 'contacts.exported', { format: query.format }).catch((error: unknown) => {
    snapshot.close()
    throw error
  })
  let { header } = format
  async function readPage() {
    const rows = await snapshot.readPage()
    const text = header + format.toLines(rows.map(toContact))
    header = ''
    return text === '' ? null : text
  }
  return streamPages({ readPage, close: () => snapshot.close() }, { idleMs, bytesPerMs })
}

async function openContacts(ctx: Ctx, where: SQL | undefined) {
  const { exports: limit } = await readQuotas(ctx)
  const slots = limit > maxCountedExports ? 0 : limit
  const locks = Array.from({ length: slots }, (_, slot) => `export ${ctx.workspaceId} ${slot}`)
  const source = sql`from ${contacts} where ${where} order by ${contacts.createdAt}, ${contacts.id}`
  const snapshot = await openSnapshot(ctx, { columns: contactColumns, source, locks })
  if (!snapshot) throw quotaExceeded('exports', limit, retryAfterSeconds)
  return snapshot
}

interface ExportFormat {
  header: string
  toLines(contacts: readonly Contact[]): string
}

const ndjsonFormat: ExportFormat = {
  header: '',
  toLines: (contacts) => contacts.map((contact) => `${JSON.stringify(contact)}\n`).join(''),
}

async function csvFormat(ctx: Ctx, { bom }: Pick<ExportQuery, 'bom'>): Promise<ExportFormat> {
  const customFields = await readCustomFieldKeys(ctx, 'CONTACT')
  return {
    header: (bom ? '\ufeff' : '') + csvHeader(customFields),
    toLines: (contacts) => toCsv(contacts, customFields),
  }
}
