import { openDatabase } from '../db/client.ts'
import { newId, type WorkspaceId } from '../kernel/ids.ts'
import { apiKeys } from '../db/schema/index.ts'
import { hashToken, newToken } from '../kernel/crypto.ts'
import { transaction } from '../db/transaction.ts'
import { createWorkspace } from '../workspaces/workspaces.ts'

/** Creates a workspace and an ADMIN key for a new installation. The database stores only the hash of the key. */
export async function createFirstWorkspace(databaseUrl: string): Promise<{ workspaceId: WorkspaceId; apiKey: string }> {
  const database = openDatabase(databaseUrl, { applicationName: 'rapport setup', onError: () => {} })
  try {
    return await transaction(database.db, async (db) => {
      const workspace = await createWorkspace(db, 'My workspace')
      const apiKey = newToken('rpk')
      await db.insert(apiKeys).values({
        workspaceId: workspace.id,
        id: newId('key'),
        name: 'First key',
        role: 'ADMIN',
        prefix: apiKey.slice(0, 10),
        keyHash: hashToken(apiKey),
      })
      return { workspaceId: workspace.id, apiKey }
    })
  } finally {
    await database.close()
  }
}
