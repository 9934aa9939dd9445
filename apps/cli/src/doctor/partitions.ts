import { readSecondsAhead } from '@rapport/core/db/partitions.ts'
import { formatAge } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

/** A worker checks hourly and creates partitions if fewer than a week's are left. */
const warnBelowSeconds = 3 * 86_400

export const partitionsCheck: Check = {
  about: 'Partitions',
  async run({ database }) {
    if (!database) return []
    const { ok, warn } = findingsAbout('Partitions')
    const ahead = await readSecondsAhead(database.db)
    if (ahead >= warnBelowSeconds) return [ok(`events and deliveries have partitions for the next ${formatAge(ahead)}`)]
    return [
      warn(
        ahead > 0
          ? `events and deliveries have partitions only for the next ${formatAge(ahead)}`
          : 'no future partitions: new rows go to the last one',
        'Workers create partitions hourly: check that one is running, and its log. "rapport migrate" creates them too.',
      ),
    ]
  },
}
