import { and, eq, isNull } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { suppressions } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import { invalidField, notFound } from '../kernel/errors.ts'
import type { SuppressionId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, getActorId, inTransaction } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { hashEmailWithAllKeys } from '../consent/hash-email.ts'
import { undoLifetimeMs } from '../consent/link-rules.ts'
import { addOptOutProof } from '../consent/operator-proofs.ts'
import type { SuppressionRow } from '../consent/suppression-rows.ts'
import { lockList } from '../lists/lists.ts'
import { suppress } from './suppress.ts'
import { toSuppression } from './suppression-record.ts'
import type { Suppression, SuppressionInput, SuppressionQuery } from './suppressions.schema.ts'

/**
 * Suppresses an address, for a list or for all, and ends the subscriptions of its contact at once, with
 * `subscription.unsubscribed` for each. `isNew` is false if it was said before: then it is said again. Throws
 * `validation_error` for a block or a bounce of one list.
 */
export function createSuppression(
  ctx: Ctx,
  { email, listId, reason, note }: SuppressionInput,
): Promise<{ suppression: Suppression; isNew: boolean }> {
  return inTransaction(ctx, async (ctx) => {
    if (listId && reason !== 'OPTED_OUT') throw invalidField('listId', `${reason} is for all lists`)
    if (listId && !(await lockList(ctx, listId))) throw invalidField('listId', 'List not found')
    const isOptOut = reason === 'OPTED_OUT'
    const [stored] = await suppress(
      ctx,
      [
        {
          email,
          listId: listId ?? null,
          reason,
          source: 'API',
          note,
          actorId: getActorId(ctx.actor),
          ...(isOptOut && { undoableForMs: undoLifetimeMs }),
        },
      ],
      {
        emitsEvents: true,
        complete(records, [said]) {
          if (!said || !isOptOut) return
          for (const contact of records.contacts)
            addOptOutProof(ctx, records, { contact, row: said.row, note: note ?? null })
        },
      },
    )
    if (!stored) throw new Error('suppress returned nothing')
    const { row, change } = stored
    await audit(ctx, 'suppression.created', { subjectId: row.id, reason, ...(listId && { listId }) })
    return { suppression: await readSuppression(ctx, row.id), isNew: change === 'CREATED' }
  })
}

/** Lists suppressions, newest first. A search for an address is recorded in the audit log. */
export async function listSuppressions(ctx: Ctx, query: SuppressionQuery): Promise<Page<Suppression>> {
  const { listId, contactId, reason, source, email } = query
  const hashes = email === undefined ? undefined : hashEmailWithAllKeys(ctx, email)
  const page = await readPage<SuppressionRow>(ctx, {
    name: `suppressions ${listId ?? ''} ${contactId ?? ''} ${reason ?? ''} ${source ?? ''} ${hashes?.[0] ?? ''}`,
    query,
    ...byCreation<SuppressionRow>(suppressions),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(suppressions)
        .where(
          and(
            eq(suppressions.workspaceId, ctx.workspaceId),
            listId === 'any' ? undefined : listId ? eq(suppressions.listId, listId) : isNull(suppressions.listId),
            contactId && eq(suppressions.contactId, contactId),
            reason && eq(suppressions.reason, reason),
            source && eq(suppressions.source, source),
            hashes && isAnyOf(suppressions.emailHash, hashes),
            isCreatedInRange(suppressions, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  if (email !== undefined) {
    const [found] = page.data
    await audit(ctx, 'suppressions.searched', { ...(found && { subjectId: found.id }) })
  }
  return { ...page, data: page.data.map(toSuppression) }
}

export async function readSuppression(ctx: Ctx, id: SuppressionId): Promise<Suppression> {
  const [row] = await ctx.db
    .select()
    .from(suppressions)
    .where(byId(suppressions, ctx, id))
  if (!row) throw notFound('Suppression')
  return toSuppression(row)
}
