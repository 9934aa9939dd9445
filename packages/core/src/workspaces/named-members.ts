/**
 * The members whom records name: the owner of a company or a deal, the assignee of a task. These have no foreign key to
 * their member, so that a workspace with a million of them is deleted at once. A statement that names a member locks it
 * before, and the removal of a member locks it too, and clears it in all records.
 */
import { and, eq, inArray } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { timeAtLeast } from '../db/schema/columns.ts'
import { members } from '../db/schema/index.ts'
import { changeWithEvents } from '../events/change-with-events.ts'
import { type Updated, updatesFrom } from '../events/changes.ts'
import { emitUpdates } from '../events/emit.ts'
import type { EventDefinition, EventSubject } from '../events/event-definition.ts'
import type { References } from '../events/insert-with-events.ts'
import { invalidField } from '../kernel/errors.ts'
import type { UserId } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { isOneOf, lockInOrder } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'

type NamedId = UserId | null | undefined

/** Locks members against their removal until the transaction ends. Returns those of the ids that are members. */
export async function lockMembers(
  ctx: Ctx,
  named: readonly NamedId[],
  { skipLocked = false } = {},
): Promise<ReadonlySet<UserId>> {
  const ids = new Set(named.flatMap((id) => id ?? []))
  if (ids.size === 0) return new Set()
  const rows = await ctx.db
    .select({ id: members.userId })
    .from(members)
    .where(and(eq(members.workspaceId, ctx.workspaceId), inArray(members.userId, [...ids])))
    .orderBy(members.userId)
    .for('key share', skipLocked ? { skipLocked } : {})
  return new Set(rows.map(({ id }) => id))
}

/** Throws `validation_error` for the field unless the id is that of a member, who is locked, or none is given. */
export async function requireMember(ctx: Ctx, field: string, id: NamedId): Promise<void> {
  if (id && !(await lockMembers(ctx, [id])).has(id)) throw memberNotFound(field)
}

export const memberNotFound = (field: string) => invalidField(field, 'User not found')

/** For `insertWithEvents`: a record is not inserted without the member. */
export function memberIn<Field extends string>(field: Field): References<Record<Field, UserId | null>> {
  return {
    hasAny: (row) => row[field] !== null,
    async lock(ctx, rows, options) {
      const locked = await lockMembers(
        ctx,
        rows.map((row) => row[field]),
        options,
      )
      return (row) => row[field] === null || locked.has(row[field])
    },
  }
}

interface Naming<Row, Data extends EventSubject> {
  table: AnyPgTable & Record<'workspaceId' | 'id' | 'updatedAt', AnyPgColumn>
  /** The property of the records, and of the table. */
  field: keyof Data & keyof Row & string
  event: EventDefinition<Updated<Data>>
  toData: (row: Row) => Data
}

/**
 * Returns a function that clears a member in all records of a table, in the order of their ids, and emits the update of
 * each. Call it in the transaction that deletes the member, with the contacts of the records and the member locked. This is not an
 * activity of the contacts.
 */
export function clearMember<Row, Data extends EventSubject>({ table, field, event, toData }: Naming<Row, Data>) {
  const columns = table as typeof table & Record<string, AnyPgColumn>
  return async (ctx: Ctx, userId: UserId): Promise<void> => {
    const change = { [field]: null, updatedAt: timeAtLeast(table.updatedAt, timestampNow()) }
    const lockNext = lockInOrder(table, ctx, eq(columns[field] as AnyPgColumn, userId))
    await changeWithEvents<Row>({
      changeBatch: async (limit) => {
        const rows = await ctx.db
          .update(table)
          .set(change)
          .where(isOneOf(table, ctx, await lockNext(limit)))
          .returning()
        return rows as Row[]
      },
      emit: async (rows) =>
        await emitUpdates(ctx, event, updatesFrom(rows.map(toData), { [field]: userId } as Partial<Data>)),
    })
  }
}
