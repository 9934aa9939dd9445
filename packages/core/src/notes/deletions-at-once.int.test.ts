/** Deletions of records that the same notes name: each locks them in an order of its own. */
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createTestCompany, createTestContact, createTestDeal } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { deals } from '../db/schema/index.ts'
import { deleteCompany } from '../operations/contacts/delete-company.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
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
