/** Deletions and merges of records that the same notes name: each locks them in an order of its own. */
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createTestCompany, createTestContact, createTestDeal } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { deals, notes } from '../db/schema/index.ts'
import { deleteCompany } from '../operations/contacts/delete-company.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { byId } from '../request/by-id.ts'
import { createNote } from './create-note.ts'
import { NoteInput } from './notes.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function createRecords() {
  const [x, y, z] = [await createTestContact(ctx), await createTestContact(ctx), await createTestContact(ctx)]
  const [ofX, ofZ] = [await createTestDeal(ctx, { contactId: x.id }), await createTestDeal(ctx, { contactId: z.id })]
  return { x: x.id, y: y.id, z: z.id, ofX: ofX.id, ofZ: ofZ.id, company: (await createTestCompany(ctx)).id }
}
type Records = Awaited<ReturnType<typeof createRecords>>

const create = (input: object) => createNote(ctx, NoteInput.parse({ body: 'Called', ...input }))

test.each<[string, (of: Records) => Promise<(() => Promise<void>)[]>]>([
  [
    'two contacts whose notes name the deals of the other',
    async ({ x, z, ofX, ofZ }) => {
      await create({ contactId: x, dealId: ofZ })
      await create({ contactId: z, dealId: ofX })
      return [() => deleteContact(ctx, x), () => deleteContact(ctx, z)]
    },
  ],
  [
    'a contact and a company of its notes',
    async ({ x, y, ofX, company }) => {
      await create({ contactId: y, companyId: company, dealId: ofX })
      await create({ contactId: x, companyId: company })
      return [() => deleteContact(ctx, x), () => deleteCompany(ctx, company)]
    },
  ],
])('%s are deleted at once', async (_name, prepare) => {
  const deletions = await prepare(await createRecords())
  // A deletion of a contact has locked its notes when it waits for its deal.
  const ofWorkspace = eq(deals.workspaceId, ctx.workspaceId)
  const holding = await openTransaction(ctx.db, (db) => db.select().from(deals).where(ofWorkspace).for('update'))
  const running = []
  for (const [index, start] of deletions.entries()) {
    running.push(start())
    await waitUntilBlocked(database.db, index + 1)
  }
  const outcomes = Promise.allSettled(running)
  await holding.commit()
  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
})

test('a contact is deleted while notes that name its deals are merged', async () => {
  const { x, y, z, ofX: first } = await createRecords()
  const second = (await createTestDeal(ctx, { contactId: x })).id
  await create({ contactId: y, dealId: second })
  await create({ contactId: y, dealId: first })
  const last = await create({ contactId: z, dealId: first })
  const holding = await openTransaction(ctx.db, (db) =>
    db
      .select()
      .from(notes)
      .where(byId(notes, ctx, last.id))
      .for('update'),
  )
  // Ends the merge, whose wait for a note of the deletion is the older one.
  const deletion = deleteContact(ctx, x)
  await waitUntilBlocked(database.db, 1)
  const merge = mergeContacts(ctx, z, { contactId: y })
  await waitUntilBlocked(database.db, 2)
  const outcomes = Promise.allSettled([deletion, merge])
  await holding.commit()
  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
})
