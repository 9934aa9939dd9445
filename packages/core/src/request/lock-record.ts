import { and, eq, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import {
  apiKeys,
  campaigns,
  contacts,
  customFields,
  deals,
  forms,
  formSubmissions,
  imports,
  invites,
  lists,
  pipelines,
  segments,
  tasks,
  webhookHealth,
  webhooks,
  workspaces,
} from '../db/schema/index.ts'
import { type ContactId, idOf, type IdOf, type IdPrefix } from '../kernel/ids.ts'
import type { Ctx } from './context.ts'

/**
 * Locks a record until the transaction ends, so that what the transaction reads of it stays true. Takes the lock that
 * the verbs which change the record take first; another order could deadlock with them. Does nothing if the record does
 * not exist.
 */
export async function lockRecord(ctx: Ctx, id: IdOf<IdPrefix>): Promise<void> {
  const [prefix = ''] = id.split('_', 1)
  const lock = locks[prefix]
  if (!lock) throw new Error(`Records with the prefix ${prefix} cannot be locked`)
  await lock(ctx, id)
}

type Lock = (ctx: Ctx, id: IdOf<IdPrefix>) => Promise<void>

/** By prefix of the id. */
const locks: Record<string, Lock> = {
  wsp: lockWorkspace,
  key: lockRow(apiKeys.workspaceId, apiKeys.id),
  inv: lockRow(invites.workspaceId, invites.id),
  // Every verb that changes a member locks the workspace first.
  usr: lockWorkspace,
  con: lockRow(contacts.workspaceId, contacts.id),
  cfd: lockRow(customFields.workspaceId, customFields.id),
  imp: lockRow(imports.workspaceId, imports.id),
  lst: lockRow(lists.workspaceId, lists.id),
  seg: lockRow(segments.workspaceId, segments.id),
  frm: lockRow(forms.workspaceId, forms.id),
  sub: lockRow(formSubmissions.workspaceId, formSubmissions.id),
  pip: lockRow(pipelines.workspaceId, pipelines.id),
  cmp: lockRow(campaigns.workspaceId, campaigns.id),
  dea: lockContactOf(deals),
  tsk: lockContactOf(tasks),
  // The lock order of webhooks: see `webhooks/health/webhook-health.ts`.
  async whk(ctx, id) {
    await lockRow(webhookHealth.workspaceId, webhookHealth.webhookId)(ctx, id)
    await lockRow(webhooks.workspaceId, webhooks.id)(ctx, id)
  },
}

async function lockWorkspace(ctx: Ctx): Promise<void> {
  await ctx.db
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(eq(workspaces.id, ctx.workspaceId))
    .for('no key update')
}

function lockRow(workspaceId: AnyPgColumn, idColumn: AnyPgColumn): Lock {
  return async (ctx, id) => {
    const isRecord = and(eq(workspaceId, ctx.workspaceId), eq(idColumn, id))
    await ctx.db.execute(sql`select from ${idColumn.table} where ${isRecord} for no key update`)
  }
}

/** The lock of its contact guards a deal or a task: see `withContactLocked`. */
function lockContactOf(table: typeof deals | typeof tasks): Lock {
  const lockContact = lockRow(contacts.workspaceId, contacts.id)
  return async (ctx, id) => {
    async function findContactId(): Promise<ContactId | undefined> {
      const isRecord = and(eq(table.workspaceId, ctx.workspaceId), eq(table.id, id as never))
      const { rows } = await ctx.db.execute(sql`select contact_id from ${table} where ${isRecord}`)
      return rows[0] && idOf('con', String(rows[0]['contact_id']))
    }
    let locked: ContactId | undefined
    // Repeats if the record moved to another contact before the lock was acquired.
    for (let owner = await findContactId(); owner && owner !== locked; owner = await findContactId()) {
      await lockContact(ctx, owner)
      locked = owner
    }
  }
}
