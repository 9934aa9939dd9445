import { readSecondsAhead } from '@rapport/core/db/partitions.ts'
import { formatAge } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

/** A worker looks each hour, and makes the next when there is less than a week of them. */
const shortSeconds = 3 * 86_400

export const partitionsCheck: Check = {
  about: 'Partitions',
  async run({ database }) {
    if (!database) return []
    const { ok, warn } = findingsAbout('Partitions')
    const ahead = await readSecondsAhead(database.db)
    if (ahead >= shortSeconds) return [ok(`of events and deliveries are there for ${formatAge(ahead)} to come`)]
    return [
      warn(
        ahead > 0 ? `are there for ${formatAge(ahead)} to come only` : 'have run out: the last takes everything',
        'A worker makes them each hour: see that one runs, and its log. So does "pnpm migrate".',
      ),
    ]
  },
}
