/**
 * The companies that contacts and deals name. A contact has no foreign key to its company, so a statement that sets
 * `companyId` locks the company before.
 */
import { and, eq, sql } from 'drizzle-orm'
import { companies } from '../db/schema/index.ts'
import type { References } from '../events/insert-with-events.ts'
import { type AppError, invalidField } from '../kernel/errors.ts'
import { type CompanyId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

export const companyNotFound = (): AppError => invalidField('companyId', 'Company not found')

/** Locks companies against their deletion until the transaction ends. Returns the names of those that exist. */
export async function lockCompanies(
  ctx: Ctx,
  ids: readonly CompanyId[],
  { skipLocked = false } = {},
): Promise<ReadonlyMap<CompanyId, string>> {
  if (ids.length === 0) return new Map()
  const rows = await selectNames(ctx, ids)
    .orderBy(companies.id)
    .for('key share', skipLocked ? { skipLocked } : {})
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Returns the name of a company that an input names. Throws `validation_error` if it does not exist. */
export async function readCompanyName(ctx: Ctx, id: CompanyId): Promise<string> {
  const [row] = await selectNames(ctx, [id])
  if (!row) throw companyNotFound()
  return row.name
}

/** Like `readCompanyName`, and locks the company against its deletion until the transaction ends. */
export async function lockCompanyName(ctx: Ctx, id: CompanyId): Promise<string> {
  const name = (await lockCompanies(ctx, [id])).get(id)
  if (name === undefined) throw companyNotFound()
  return name
}

function selectNames(ctx: Ctx, ids: readonly CompanyId[]) {
  const { id, name, workspaceId } = companies
  const isNamed = sql`${id} = any(${sql.param([...new Set(ids)].map(uuidOf))}::uuid[])`
  return ctx.db
    .select({ id, name })
    .from(companies)
    .where(and(eq(workspaceId, ctx.workspaceId), isNamed))
}

/** For `insertWithEvents`: neither a contact nor a deal is inserted without its company. */
export const companyOf: References<{ companyId: CompanyId | null }> = {
  hasAny: ({ companyId }) => companyId !== null,
  async lock(ctx, rows, options) {
    const ids = rows.flatMap(({ companyId }) => companyId ?? [])
    const locked = await lockCompanies(ctx, ids, options)
    return ({ companyId }) => companyId === null || locked.has(companyId)
  },
}
