import { memoizePerDb } from '../db/client.ts'
import { notFound } from '../kernel/errors.ts'
import { uuidOf } from '../kernel/ids.ts'
import { microBatch } from '../kernel/micro-batch.ts'
import type { Ctx } from '../request/context.ts'
import { showContact } from './contact-record.ts'
import { selectContacts } from './contact-statements.ts'
import type { Contact } from './contacts.schema.ts'

/** Reads one contact. */
export async function readContact(ctx: Ctx, id: string): Promise<Contact> {
  const row = await readTogether(ctx.db)({ workspaceId: uuidOf(ctx.workspaceId), id: uuidOf(id) })
  if (!row) throw notFound('Contact')
  return showContact(row)
}

/** Those who come while others are being read go together in the next statement: each after it asked. */
const readTogether = memoizePerDb((db) =>
  microBatch(async (asked: Record<'workspaceId' | 'id', string>[]) => {
    const workspaceIds = asked.map(({ workspaceId }) => workspaceId)
    const rows = await selectContacts(db, { workspaceIds, ids: asked.map(({ id }) => id) })
    return asked.map(({ workspaceId, id }) => rows.find((row) => row.id === id && row.workspaceId === workspaceId))
  }),
)
