import type { Db } from '@rapport/core/db/client.ts'
import {
  distribute as distributeDatabase,
  type Distribution,
  listConnectedPrograms,
  readDistribution,
} from '@rapport/core/db/distribution/distribute.ts'
import { coordinatorTables } from '@rapport/core/db/distribution/table-groups.ts'
import { hasPendingMigrations } from '@rapport/core/db/migrate.ts'
import { readMigrateConfig } from '@rapport/core/runtime/config.ts'
import { z } from 'zod'
import { CommandFailed, defineCommand, exitCodes, flag, jsonFlag } from '../command.ts'
import { withDatabase } from '../database.ts'
import { formatBytes, formatCount } from '../terminal.ts'

export const distribute = defineCommand({
  options: z.strictObject({
    'dry-run': z.boolean().default(false).meta(flag('Prints what the command would do, and changes nothing')),
    json: jsonFlag('Prints the servers and the tables as JSON'),
  }),
  notes: [
    'The database needs the extension "citus", its servers and all migrations. Stop all APIs and workers first, and make',
    'a backup: the rows move in one transaction, and there is no command for the way back. The command can be run again:',
    'it moves only tables that are not distributed yet. See docs/scaling.md.',
  ].join('\n'),
  async run(cli, { 'dry-run': isDryRun, json }) {
    const { terminal } = cli
    const distribution = await withDatabase(cli, async ({ db }) => {
      const found = await requireCluster(db)
      if (!isDryRun && countPending(found) > 0) await requireNoConnections(db)
      return found
    })
    const { nodes, pending } = distribution
    terminal.log(describe(distribution, isDryRun))
    if (!isDryRun) {
      await distributeDatabase(readMigrateConfig(cli.environment).DATABASE_URL, pending)
    }
    terminal.print(json ? JSON.stringify({ nodes, ...pending }) : describeResult(distribution, isDryRun))
    return exitCodes.success
  },
})

const countPending = ({ pending }: Distribution) => pending.reference.length + pending.distributed.length

async function requireCluster(db: Db): Promise<Distribution> {
  const found = await readDistribution(db)
  if (!found)
    throw new CommandFailed('The database does not have the extension "citus". docs/scaling.md has the steps.')
  if (await hasPendingMigrations(db)) throw new CommandFailed('Migrations are pending. Run "rapport migrate" first.')
  if (!found.hasCoordinator) {
    throw new CommandFailed("The coordinator has no address. Run: select citus_set_coordinator_host('<host>', <port>)")
  }
  if (found.nodes.length === 0) {
    throw new CommandFailed("The cluster has no servers. Run for each: select citus_add_node('<host>', <port>)")
  }
  return found
}

/** Their statements would wait for the locks of the move, and fail. */
async function requireNoConnections(db: Db): Promise<void> {
  const names = await listConnectedPrograms(db)
  if (names.length === 0) return
  throw new CommandFailed(`Stop all APIs and workers first. These are connected: ${names.join(', ')}`)
}

function describe({ nodes, bytes, pending }: Distribution, isDryRun: boolean): string {
  const list = (names: readonly string[]) => (names.length === 0 ? 'none' : names.join(', '))
  return [
    `Servers with rows of workspaces: ${list(nodes)}`,
    `Tables to copy to every server: ${list(pending.reference)}`,
    `Tables to distribute by workspace_id: ${list(pending.distributed)}`,
    `Tables that stay on the coordinator: ${list(coordinatorTables)}`,
    ...(isDryRun ? [] : [`Moving the rows of these tables, of a database of ${formatBytes(bytes)}.`]),
  ].join('\n')
}

function describeResult(distribution: Distribution, isDryRun: boolean): string {
  const count = countPending(distribution)
  if (count === 0) return 'Every table is where it belongs.'
  const tables = formatCount(count, 'table')
  return isDryRun
    ? `${tables} would be moved.`
    : `Moved ${tables}. Run "rapport doctor", then start the APIs and workers.`
}
