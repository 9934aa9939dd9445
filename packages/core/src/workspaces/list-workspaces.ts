import { asc, isNull } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { workspaces } from '../db/schema/index.ts'
import type { Workspace } from './workspaces.schema.ts'

/** Lists all workspaces of the installation, oldest first, for the operator. */
export async function listWorkspaces(db: Db): Promise<Pick<Workspace, 'id' | 'name' | 'suspendedAt' | 'createdAt'>[]> {
  const rows = await db
    .select({
      id: workspaces.id,
      name: workspaces.name,
      suspendedAt: workspaces.suspendedAt,
      createdAt: workspaces.createdAt,
    })
    .from(workspaces)
    .where(isNull(workspaces.deletedAt))
    .orderBy(asc(workspaces.createdAt), asc(workspaces.id))
  return rows.map((row) => ({
    ...row,
    suspendedAt: row.suspendedAt,
    createdAt: row.createdAt,
  }))
}
