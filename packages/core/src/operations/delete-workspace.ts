import { and, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import { deleteAllApiKeys } from '../auth/api-keys.ts'
import { deleteUsersWithoutWorkspace, lockUsers } from '../auth/users.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { uuidOf } from '../kernel/ids.ts'
import { enqueue } from '../jobs/outbox.ts'
import { queueNames } from '../jobs/queues.ts'
import * as schema from '../db/schema/index.ts'
import { invites, members, outbox, sessions, webhookDrains, workspaces } from '../db/schema/index.ts'

/**
 * Deletes the workspace: from now on nobody gets in, and the worker takes away what is in it, however much. Who is in no
 * other workspace goes as well.
 */
export function deleteWorkspace(ctx: Ctx): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const [deleted] = await ctx.db
      .update(workspaces)
      .set({ deletedAt: sql`now()` })
      .where(and(eq(workspaces.id, ctx.workspaceId), isNull(workspaces.deletedAt)))
      .returning({ id: workspaces.id })
    if (!deleted) throw notFound('Workspace')
    await deleteAllApiKeys(ctx)
    await ctx.db.delete(invites).where(eq(invites.workspaceId, ctx.workspaceId))
    await removeAllMembers(ctx)
    await enqueue(ctx, 'maintenance', ctx.workspaceId)
  })
}

const maxRowsPerStep = 1_000

/**
 * One step of taking away what is in a deleted workspace; answers whether there is more. Each step is whole by itself and
 * harmless to repeat. What is under way, such as mails, goes first; the workspace itself last, and with it the work.
 */
export async function clearDeletedWorkspace(ctx: Ctx, uuid: string): Promise<boolean> {
  const isDeleted = and(eq(workspaces.id, ctx.workspaceId), isNotNull(workspaces.deletedAt))
  if (uuid !== uuidOf(ctx.workspaceId) || (await ctx.db.$count(workspaces, isDeleted)) === 0) return false
  for (const step of deletionSteps) if (await deleteRows(ctx, step)) return true
  await inTransaction(ctx, async (ctx) => {
    // Nothing new can name the workspace while its row is locked: what came in since goes by cascade.
    await ctx.db.select({ id: workspaces.id }).from(workspaces).where(isDeleted).for('update')
    await removeAllMembers(ctx)
    await ctx.db.delete(workspaces).where(isDeleted)
  })
  return false
}

/** Their sessions go by cascade. */
async function removeAllMembers(ctx: Ctx): Promise<void> {
  const isInWorkspace = eq(members.workspaceId, ctx.workspaceId)
  const memberships = await ctx.db.select({ userId: members.userId }).from(members).where(isInWorkspace)
  await lockUsers(
    ctx,
    memberships.map(({ userId }) => userId),
  )
  const removed = await ctx.db.delete(members).where(isInWorkspace).returning({ userId: members.userId })
  await deleteUsersWithoutWorkspace(
    ctx,
    removed.map(({ userId }) => userId),
  )
}

interface DeletionStep {
  table: PgTable
  /** What is meant of the workspace's rows; all, unless given. */
  condition?: SQL
}

async function deleteRows(ctx: Ctx, { table, condition = sql`true` }: DeletionStep): Promise<boolean> {
  const name = sql.identifier(getTableConfig(table).name)
  const isSelected = sql`workspace_id = ${uuidOf(ctx.workspaceId)} and ${condition}`
  // Each partition of a table counts its places for itself, so that the place alone would name others' rows as well.
  const result = await ctx.db.execute(sql`
    delete from ${name}
    where ${isSelected} and ctid = any (array(select ctid from ${name} where ${isSelected} limit ${maxRowsPerStep}))`)
  return (result.rowCount ?? 0) > 0
}

/** All but the work of clearing itself. */
const pendingWork: DeletionStep = {
  table: outbox,
  condition: sql`queue = any(${sql.param([...queueNames])}::text[]) and id <> workspace_id`,
}

/** Every table of a workspace, each after those that refer to it, so that no step cascades far; work under way comes first. */
const deletionSteps: DeletionStep[] = [pendingWork, ...orderChildrenFirst().map((table) => ({ table }))]

function orderChildrenFirst(): PgTable[] {
  // The few rows of these go with the workspace's own, and those of drains with their webhooks: they guard what is out.
  const excluded: unknown[] = [workspaces, members, sessions, outbox, webhookDrains]
  const tables = Object.values(schema).filter((value): value is typeof value & PgTable => value instanceof PgTable)
  const tenantTables: PgTable[] = tables.filter((table) => 'workspaceId' in table && !excluded.includes(table))
  const ordered = new Set<PgTable>()
  const visit = (table: PgTable, ancestors: PgTable[]) => {
    const referencesTable = (child: PgTable) =>
      getTableConfig(child).foreignKeys.some((key) => key.reference().foreignTable === table)
    for (const child of tenantTables)
      if (referencesTable(child) && !ancestors.includes(child)) visit(child, [...ancestors, child])
    ordered.add(table)
  }
  for (const table of tenantTables) visit(table, [table])
  return [...ordered]
}
