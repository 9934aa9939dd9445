import { withConnection } from '../../backups/connection.ts'
import { openDatabase } from '../../db/client.ts'
import { migrate } from '../../db/migrate.ts'
import { expireHeartbeats } from '../../work/worker-registry.ts'
import { type InterruptedWorkCounts, interruptRestoredWork } from './restored-backup.ts'

/**
 * Makes a restored database ready for this release: migrates it and interrupts its pending work, which may have been
 * done since the backup. No worker may be able to connect to the database yet.
 */
export async function prepareRestoredDatabase(databaseUrl: string): Promise<InterruptedWorkCounts> {
  const database = openDatabase(databaseUrl, { applicationName: 'rapport restore', onError: () => {} })
  const { db } = database
  try {
    // A backup that was made seconds ago has recent heartbeats.
    await expireHeartbeats(db)
    await migrate(databaseUrl)
    const counts = await interruptRestoredWork(db, undefined)
    // Without statistics, which a dump does not contain, the first plans would be slow.
    await withConnection(databaseUrl, (client) => client.query('analyze'))
    return counts
  } finally {
    await database.close()
  }
}
