import { urlOfDatabase } from '@rapport/core/backups/connection.ts'
import {
  compareContents,
  type DatabaseContents,
  readDatabaseContents,
} from '@rapport/core/backups/database-contents.ts'
import { openServer } from '@rapport/core/backups/server-databases.ts'
import { CommandFailed } from '../command.ts'
import { type DumpSource } from './dump-source.ts'
import { prepareRestore, type RestoreTarget } from './restore-dump.ts'
import { scratchName } from './scratch-name.ts'

/**
 * Restores a backup into a database of its own, compares it with the contents of the original at the time of the backup,
 * and drops it.
 */
export async function verifyBackup(
  source: DumpSource,
  original: { database: string; contents: DatabaseContents },
  options: Omit<RestoreTarget, 'server'>,
): Promise<void> {
  const server = await openServer(options.url)
  try {
    const name = scratchName(original.database, '_test_restore')
    await server.lock(name)
    const restore = await prepareRestore(source, { ...options, server })
    await restore(name)
    try {
      const restored = await readDatabaseContents(urlOfDatabase(options.url, name))
      const differences = compareContents(original.contents, restored)
      if (differences.length > 0) throw new CommandFailed(differences.slice(0, maxDifferences).join('\n'))
    } finally {
      await server.discard(name)
    }
  } finally {
    await server.close()
  }
}

const maxDifferences = 10
