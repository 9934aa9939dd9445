import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { suppressions } from '../db/schema/index.ts'
import { notFound } from '../kernel/errors.ts'
import type { SuppressionId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { hashEmailWithAllKeys } from '../subscriptions/hash-email.ts'
import type { SuppressionRow } from '../subscriptions/store-suppressions.ts'
import { suppress } from './suppress.ts'
import { toSuppression } from './suppression-record.ts'
import type { Suppression, SuppressionInput, SuppressionQuery } from './suppressions.schema.ts'

/**
 * Suppresses an address, or adds a reason to its suppression, and ends the subscriptions of its contact at once, with
 * `subscription.unsubscribed` for each. `isNew` is false if the address was suppressed before.
 */
export function createSuppression(
  ctx: Ctx,
  { email, reason, note }: SuppressionInput,
): Promise<{ suppression: Suppression; isNew: boolean }> {
  return inTransaction(ctx, async (ctx) => {
    const added = { email, reason, source: 'API', ...(note !== undefined && { note }) } as const
    const [stored] = await suppress(ctx, [added], { emitsEvents: true })
    if (!stored) throw new Error('suppress returned nothing')
    const { row, change } = stored
    if (change !== 'UNCHANGED') await audit(ctx, 'suppression.created', { subjectId: row.id, reason })
    return { suppression: toSuppression(row), isNew: change === 'CREATED' }
  })
}

/** Lists suppressions, newest first. A search for an address is recorded in the audit log. */
export async function listSuppressions(ctx: Ctx, query: SuppressionQuery): Promise<Page<Suppression>> {
  const { reason, source, email } = query
  const hashes = email === undefined ? undefined : hashEmailWithAllKeys(ctx, email)
  const page = await readPage<SuppressionRow>(ctx, {
    name: `suppressions ${reason ?? ''} ${source ?? ''} ${hashes?.[0] ?? ''}`,
    query,
    ...byCreation<SuppressionRow>(suppressions),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(suppressions)
        .where(
          and(
            eq(suppressions.workspaceId, ctx.workspaceId),
            reason && eq(suppressions.reason, reason),
            source && eq(suppressions.source, source),
            hashes && sql`${suppressions.emailHash} = any(${sql.param(hashes)})`,
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
