import { and, eq, sql } from 'drizzle-orm'
import type { BaseCtx, Ctx } from '../context.ts'
import { notFound } from '../errors.ts'
import { toTimestamp } from '../fields.ts'
import { newId } from '../ids.ts'
import { byCreation, type Page, readPage } from '../paging.ts'
import { lists, subscriptions } from '../schema.ts'
import type { List, ListInput, ListQuery } from './lists.schema.ts'

const confirmedCount = sql<number>`(
  select count(*)::int from ${subscriptions} s
  where s.workspace_id = ${lists.workspaceId} and s.list_id = ${lists.id} and s.status = 'CONFIRMED')`
type ListRow = typeof lists.$inferSelect & { confirmedCount: number }

/** Creates a list. */
export async function createList(ctx: Ctx, input: ListInput): Promise<List> {
  const [row] = await ctx.db
    .insert(lists)
    .values({ ...input, workspaceId: ctx.workspaceId, id: newId('lst') })
    .returning()
  if (!row) throw new Error('INSERT … RETURNING returned nothing')
  return toList({ ...row, confirmedCount: 0 })
}

/** Reads one list with the number of its confirmed subscribers. */
export async function readList(ctx: Ctx, id: string): Promise<List> {
  const [row] = await selectLists(ctx).where(and(eq(lists.workspaceId, ctx.workspaceId), eq(lists.id, id)))
  if (!row) throw notFound('List')
  return toList(row)
}

/** A page of the workspace's lists. */
export async function listLists(ctx: Ctx, query: ListQuery): Promise<Page<List>> {
  const page = await readPage<ListRow>(ctx, {
    name: 'lists',
    query,
    ...byCreation<ListRow>(lists),
    read: ({ after, orderBy, limit }) =>
      selectLists(ctx)
        .where(and(eq(lists.workspaceId, ctx.workspaceId), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toList) }
}

/** For the public routes, which know a list by its id alone: on behalf of a stranger in the list's workspace. */
export async function enterAsStranger(ctx: BaseCtx, listId: string): Promise<{ ctx: Ctx; doubleOptIn: boolean }> {
  const [list] = await ctx.db
    .select({ workspaceId: lists.workspaceId, doubleOptIn: lists.doubleOptIn })
    .from(lists)
    .where(eq(lists.id, listId))
  if (!list) throw notFound('List')
  return { ctx: { ...ctx, workspaceId: list.workspaceId, actor: { kind: 'public' } }, doubleOptIn: list.doubleOptIn }
}

function selectLists(ctx: Ctx) {
  return ctx.db
    .select({
      workspaceId: lists.workspaceId,
      id: lists.id,
      name: lists.name,
      description: lists.description,
      doubleOptIn: lists.doubleOptIn,
      createdAt: lists.createdAt,
      updatedAt: lists.updatedAt,
      confirmedCount,
    })
    .from(lists)
}

function toList(row: ListRow): List {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    doubleOptIn: row.doubleOptIn,
    confirmedCount: row.confirmedCount,
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  }
}
