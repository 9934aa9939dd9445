import { eq } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { unauthenticated } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { createDefaultPipeline } from '../pipelines/pipelines.ts'
import { workspaces } from '../db/schema/index.ts'
import type { Workspace } from './workspaces.schema.ts'

/** Creates a workspace with the default pipeline and without members. */
export async function createWorkspace(db: Db, name: string, creationKey?: string): Promise<Workspace> {
  const [row] = await db
    .insert(workspaces)
    .values({ id: newId('wsp'), name, creationKey })
    .returning()
  if (!row) throw new Error('INSERT … RETURNING returned nothing')
  await createDefaultPipeline({ db, workspaceId: row.id })
  return toWorkspace(row)
}

/** Reads the workspace of the credential. Without its workspace, a credential is invalid. */
export async function readWorkspace({ db, workspaceId }: Ctx): Promise<Workspace> {
  const [row] = await db.select().from(workspaces).where(eq(workspaces.id, workspaceId))
  if (!row) throw unauthenticated()
  return toWorkspace(row)
}

/** Locks the workspace until the transaction ends. Changes of its members take this lock first, too. */
export async function lockWorkspace(ctx: Ctx): Promise<void> {
  await ctx.db
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(eq(workspaces.id, ctx.workspaceId))
    .for('no key update')
}

export function toWorkspace(row: typeof workspaces.$inferSelect): Workspace {
  return {
    id: row.id,
    name: row.name,
    currency: row.currency,
    fromName: row.fromName,
    fromEmail: row.fromEmail,
    postalAddress: row.postalAddress,
    logoUrl: row.logoUrl,
    accentColor: row.accentColor,
    locale: row.locale,
    confirmChangedAddress: row.confirmChangedAddress,
    trackingWithoutConsent: row.trackingWithoutConsent,
    suspendedAt: row.suspendedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
