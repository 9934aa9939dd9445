import { and, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import { inAccountTransaction } from '../../auth/account-transaction.ts'
import { deleteAllApiKeys } from '../../auth/api-keys.ts'
import { passOnHosts } from '../../domains/hosts/take-host.ts'
import { requireUnchangedActor } from '../../request/lock-actor.ts'
import { deleteUsersWithoutWorkspace, lockUsers } from '../../auth/users.ts'
import type { Ctx } from '../../request/context.ts'
import { invalidField, notFound } from '../../kernel/errors.ts'
import { newId, uuidOf } from '../../kernel/ids.ts'
import { normalizeText } from '../../kernel/validation.ts'
import { enqueue } from '../../work/enqueue.ts'
import { isNoDrain } from '../../work/kinds.ts'
import type { WorkspaceDeletion } from '../../workspaces/workspaces.schema.ts'
import * as schema from '../../db/schema/index.ts'
import { invites, members, sessions, webhookHealth, work, workspaces } from '../../db/schema/index.ts'

/**
 * Marks the workspace as deleted and ends all access to it immediately. The worker deletes its rows in the background.
 * Users who are in no other workspace are deleted too. Throws `validation_error` unless `name` is its name.
 */
export function deleteWorkspace(ctx: Ctx, { name }: WorkspaceDeletion): Promise<void> {
  return inAccountTransaction(ctx, async (ctx) => {
    const [deleted] = await ctx.db
      .update(workspaces)
      .set({ deletedAt: sql`now()` })
      .where(and(eq(workspaces.id, ctx.workspaceId), isNull(workspaces.deletedAt)))
      .returning({ name: workspaces.name })
    if (!deleted) throw notFound('Workspace')
    await requireUnchangedActor(ctx)
    if (!isSameName(name, deleted.name)) throw invalidField('name', 'name: must be the name of the workspace')
    await removeAllMembers(ctx)
    await deleteAllApiKeys(ctx)
    await passOnHosts(ctx)
    await ctx.db.delete(invites).where(eq(invites.workspaceId, ctx.workspaceId))
    await enqueue(ctx, 'CLEAR_WORKSPACE', ctx.workspaceId)
  })
}

const isSameName = (a: string, b: string) => normalizeText(a) === normalizeText(b)

const maxRowsPerStep = 1_000

/**
 * Deletes the next rows of a deleted workspace. Returns whether more rows remain. Each step commits separately and can
 * be repeated. Pending work such as mails is deleted first; the workspace itself is deleted last, together with this
 * job.
 */
export async function clearDeletedWorkspace(ctx: Ctx, uuid: string): Promise<boolean> {
  const isDeleted = and(eq(workspaces.id, ctx.workspaceId), isNotNull(workspaces.deletedAt))
  if (uuid !== uuidOf(ctx.workspaceId) || (await ctx.db.$count(workspaces, isDeleted)) === 0) return false
  for (const step of deletionSteps) if (await deleteRows(ctx, step)) return true
  await inAccountTransaction(ctx, async (ctx) => {
    // No row that references the workspace can be inserted while it is locked. Rows inserted since the last step are
    // deleted by cascade.
    await ctx.db.select({ id: workspaces.id }).from(workspaces).where(isDeleted).for('update')
    await removeAllMembers(ctx)
    const [cleared] = await ctx.db.delete(workspaces).where(isDeleted).returning()
    if (cleared?.creationKey) await keepCreationKey(ctx, cleared)
  })
  return false
}

/** A program that repeats its calls must not create the workspace again. The row has an id that nothing refers to. */
async function keepCreationKey(ctx: Ctx, { creationKey, deletedAt }: typeof workspaces.$inferSelect): Promise<void> {
  await ctx.db.insert(workspaces).values({ id: newId('wsp'), name: '', creationKey, deletedAt })
}

/** Sessions are deleted by cascade. */
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
  /** Which rows of the workspace to delete. Default: all. */
  condition?: SQL
}

async function deleteRows(ctx: Ctx, { table, condition = sql`true` }: DeletionStep): Promise<boolean> {
  const name = sql.identifier(getTableConfig(table).name)
  const isSelected = sql`workspace_id = ${uuidOf(ctx.workspaceId)} and ${condition}`
  // A `ctid` is unique within a partition only: without `isSelected`, rows of other workspaces would match too.
  const result = await ctx.db.execute(sql`
    delete from ${name}
    where ${isSelected} and ctid = any (array(select ctid from ${name} where ${isSelected} limit ${maxRowsPerStep}))`)
  return (result.rowCount ?? 0) > 0
}

/** All work except this job, and the claim that guards deliveries in flight. */
const pendingWork: DeletionStep = { table: work, condition: sql`id <> workspace_id and ${isNoDrain}` }

/**
 * Every tenant table, after the tables that reference it, so that no step cascades to many rows. Pending work comes
 * first.
 */
const deletionSteps: DeletionStep[] = [pendingWork, ...orderChildrenFirst().map((table) => ({ table }))]

function orderChildrenFirst(): PgTable[] {
  // The few rows of these tables are deleted with the workspace, and the health of webhooks with them.
  const excluded: unknown[] = [workspaces, members, sessions, work, webhookHealth]
  const tables = Object.values(schema).filter((value): value is typeof value & PgTable => value instanceof PgTable)
  const tenantTables: PgTable[] = tables.filter((table) => 'workspaceId' in table && !excluded.includes(table))
  const listParents = (table: PgTable) => getTableConfig(table).foreignKeys.map((key) => key.reference().foreignTable)
  const parentsOf = new Map(tenantTables.map((table) => [table, listParents(table)]))
  const ordered = new Set<PgTable>()
  const visit = (table: PgTable, ancestors: PgTable[]) => {
    for (const [child, parents] of parentsOf)
      if (parents.includes(table) && !ancestors.includes(child)) visit(child, [...ancestors, child])
    ordered.add(table)
  }
  for (const table of tenantTables) visit(table, [table])
  return [...ordered]
}
