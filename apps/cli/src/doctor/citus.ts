import { listUnreachableNodes, readDistribution } from '@rapport/core/db/distribution/distribute.ts'
import { formatCount } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

/** Reports nothing about a database without a cluster: a provider may have installed the extension. */
export const citusCheck: Check = {
  about: 'Citus',
  async run({ database }) {
    if (!database) return []
    const { ok, warn, fail } = findingsAbout('Citus')
    const distribution = await readDistribution(database.db)
    if (!distribution) return []
    const { nodes, pending, isDistributed } = distribution
    if (nodes.length === 0 && !isDistributed) return []
    const misplaced = [...pending.reference, ...pending.distributed]
    if (misplaced.length > 0) {
      const advice = 'Stop all APIs and workers, and run "rapport distribute".'
      return [warn(`not distributed: ${misplaced.join(', ')}`, advice)]
    }
    const unreachable = await listUnreachableNodes(database.db)
    if (unreachable.length > 0) {
      return [fail(`unreachable: ${unreachable.join(', ')}`, 'Start these servers: their workspaces are unavailable.')]
    }
    return [ok(`the workspaces are on ${formatCount(nodes.length, 'server')}: ${nodes.join(', ')}`)]
  },
}
