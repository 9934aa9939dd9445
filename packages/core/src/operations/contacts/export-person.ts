import { Readable } from 'node:stream'
import { audit } from '../../audit/audit.ts'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { readContact } from '../../contacts/read-contact.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import type { Page } from '../../request/paging.ts'
import type { ExportSection } from './export-section.ts'
import { exportSections } from './person-export.schema.ts'

const pageSize = 100

/**
 * Streams everything that is kept about a person as a `PersonExport`, in pages, so that memory is bounded and no
 * transaction waits for a slow reader. Throws `not_found`. If the contact is deleted meanwhile, the stream fails.
 */
export async function exportPerson(ctx: Ctx, id: ContactId): Promise<Readable> {
  const contact = await inTransaction(ctx, async (ctx) => {
    const contact = await readContact(ctx, id)
    await audit(ctx, 'contact.exported', { subjectId: id })
    return contact
  })
  return Readable.from(writePersonJson(ctx, contact), { objectMode: false })
}

/** Writes the `PersonExport` of a contact. */
export async function* writePersonJson(ctx: Ctx, contact: Contact): AsyncGenerator<string> {
  yield `{"exportedAt":${JSON.stringify(new Date())},"contact":${JSON.stringify(contact)}`
  for (const section of exportSections) {
    yield `,${JSON.stringify(section.name)}:[`
    yield* writeItems(ctx, contact.id, section)
    yield ']'
  }
  yield '}\n'
}

async function* writeItems(ctx: Ctx, contactId: ContactId, { readPage }: ExportSection): AsyncGenerator<string> {
  let separator = ''
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page<unknown> = await readPage(ctx, contactId, { limit: pageSize, cursor, sort: 'createdAt' })
    for (const item of page.data) {
      yield separator + JSON.stringify(item)
      separator = ','
    }
    cursor = page.nextCursor
  }
}
