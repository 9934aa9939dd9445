import { isDeepStrictEqual } from 'node:util'
import { and, eq, getTableColumns, isNull, ne, sql } from 'drizzle-orm'
import { byId } from '../request/by-id.ts'
import { type BaseCtx, type Ctx, inTransaction, publicContext, requireAtHost } from '../request/context.ts'
import { invalidField, notFound } from '../kernel/errors.ts'
import { timeOfUpdate, timestampNow } from '../kernel/values/timestamps.ts'
import { maxNoteBytes, requireSize } from '../kernel/stored-size.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { type ListId, newId } from '../kernel/ids.ts'
import { containsText } from '../request/contains-text.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { lists, type publicSignups, subscriptions } from '../db/schema/index.ts'
import { countWithheld } from '../mail/budget/withheld-confirmations.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { isInLiveWorkspace, isInSuspendedWorkspace } from '../request/workspace-state.ts'
import type { List, ListChange, ListInput, ListQuery, ListRecord } from './lists.schema.ts'
import { qualify } from '../db/statements/qualify.ts'
import { updateStatement } from '../db/json-rows.ts'

const confirmedCount = sql<number>`(
  select count(*)::int from ${subscriptions} s
  where s.workspace_id = ${qualify(lists.workspaceId)} and s.list_id = ${qualify(lists.id)} and s.status = 'CONFIRMED')`
const { deletedAt: _, ...columns } = getTableColumns(lists)
export const listColumns = { ...columns, confirmedCount }
type ListRow = Omit<typeof lists.$inferSelect, 'deletedAt'> & { confirmedCount: number }

/** Creates a list. Throws `quota_exceeded` if the workspace has the maximum number of lists. */
export async function createList(ctx: Ctx, input: ListInput): Promise<ListRecord> {
  requireSize('description', input.description, maxNoteBytes)
  const now = timestampNow()
  const list: typeof lists.$inferSelect = {
    workspaceId: ctx.workspaceId,
    id: newId('lst'),
    name: input.name,
    description: input.description,
    doubleOptIn: input.doubleOptIn,
    publicSignup: input.publicSignup,
    locale: input.locale ?? null,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  }
  await inTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'lists', { count: () => countLists(ctx) })
    await ctx.db.insert(lists).values(list)
  })
  return { ...toList({ ...list, confirmedCount: 0 }), withheldConfirmations: 0 }
}

export function countLists(ctx: Ctx): Promise<number> {
  return ctx.db.$count(lists, and(eq(lists.workspaceId, ctx.workspaceId), isNull(lists.deletedAt)))
}

/** Reads one list with the numbers of its confirmed subscribers and of the confirmations that wait. */
export async function readList(ctx: Ctx, id: ListId): Promise<ListRecord> {
  const [row] = await selectLists(ctx).where(isLiveList(ctx, id))
  if (!row) throw notFound('List')
  return { ...toList(row), withheldConfirmations: await countWithheld(ctx, id) }
}

export async function listLists(ctx: Ctx, query: ListQuery): Promise<Page<List>> {
  const page = await readPage<ListRow>(ctx, {
    name: 'lists',
    query,
    ...byCreation<ListRow>(lists),
    read: ({ after, orderBy, limit }) =>
      selectLists(ctx)
        .where(
          and(
            eq(lists.workspaceId, ctx.workspaceId),
            isNull(lists.deletedAt),
            query.search === undefined ? undefined : containsText(lists.name, query.search),
            isCreatedInRange(lists, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toList) }
}

export async function updateList(ctx: Ctx, id: ListId, change: ListChange): Promise<ListRecord> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockListForUpdate(ctx, id)
    const next = { ...current, ...withoutUndefined(change) }
    requireSize('description', next.description, maxNoteBytes)
    if (!isDeepStrictEqual(next, current)) {
      await updateRow(ctx.db, { ...next, updatedAt: timeOfUpdate(current.updatedAt) })
    }
    return readList(ctx, id)
  })
}

/** Locks a list that is about to be changed until the transaction ends. */
export async function lockListForUpdate(ctx: Ctx, id: ListId): Promise<typeof lists.$inferSelect> {
  const [row] = await ctx.db.select().from(lists).where(isLiveList(ctx, id)).for('no key update')
  if (!row) throw notFound('List')
  return row
}

interface ListSettings {
  id: ListId
  doubleOptIn: boolean
  publicSignup: (typeof publicSignups)[number]
}

/** Finds a list without counting its subscribers. */
async function findList(ctx: Ctx, id: ListId): Promise<ListSettings | undefined> {
  const [list] = await selectList(ctx, id)
  return list
}

/**
 * Finds a list and locks its row: a concurrent deletion waits until the transaction ends. Returns undefined if it
 * does not exist.
 */
export async function lockList(ctx: Ctx, id: ListId): Promise<ListSettings | undefined> {
  const [list] = await selectList(ctx, id).for('share')
  return list
}

/**
 * Returns the ids of all lists but one, also of those that are being deleted. Their rows remain until the transaction ends,
 * for what refers to them; a concurrent deletion does not wait, as it marks the row only.
 */
export async function listOtherLists(ctx: Ctx, id: ListId): Promise<ListId[]> {
  const others = and(eq(lists.workspaceId, ctx.workspaceId), ne(lists.id, id))
  const rows = await ctx.db.select({ id: lists.id }).from(lists).where(others).orderBy(lists.id).for('key share')
  return rows.map((row) => row.id)
}

function selectList(ctx: Ctx, id: ListId) {
  const { doubleOptIn, publicSignup } = lists
  return ctx.db.select({ id: lists.id, doubleOptIn, publicSignup }).from(lists).where(isLiveList(ctx, id))
}

/** Returns the list that the request path names. Throws `not_found` if it does not exist. */
export async function requireList(ctx: Ctx, id: ListId): Promise<ListSettings> {
  const list = await findList(ctx, id)
  if (!list) throw notFound('List')
  return list
}

/** Throws `validation_error` if the list, which the input names, does not exist. */
export async function checkListId(ctx: Ctx, id: ListId): Promise<void> {
  if (!(await findList(ctx, id))) throw invalidField('listId', 'List not found')
}

/**
 * For public routes: finds a list that visitors can join by id alone, and returns the context of a visitor in its
 * workspace.
 */
export async function findPublicList(ctx: BaseCtx, listId: ListId): Promise<{ ctx: Ctx; isSuspended: boolean }> {
  const [list] = await ctx.db
    .select({
      workspaceId: lists.workspaceId,
      publicSignup: lists.publicSignup,
      isSuspended: isInSuspendedWorkspace(lists.workspaceId),
    })
    .from(lists)
    .where(and(eq(lists.id, listId), isNull(lists.deletedAt), isInLiveWorkspace(lists.workspaceId)))
  if (list?.publicSignup !== 'OPEN') throw notFound('List')
  requireAtHost(ctx, list.workspaceId)
  return { ctx: publicContext(ctx, list.workspaceId), isSuspended: list.isSuspended }
}

function isLiveList(ctx: Ctx, id: ListId) {
  return and(byId(lists, ctx, id), isNull(lists.deletedAt))
}

function selectLists(ctx: Ctx) {
  return ctx.db.select(listColumns).from(lists)
}

export function toList(row: ListRow): List {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    doubleOptIn: row.doubleOptIn,
    publicSignup: row.publicSignup,
    locale: row.locale,
    confirmedCount: row.confirmedCount,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

const updateRow = updateStatement(lists)
