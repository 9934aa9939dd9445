import { countLostRows } from '@rapport/core/consent/lost-rows.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { formatCount } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

const { ok, warn } = findingsAbout('Consent')
const timeoutMs = 2_000

export const lostRowsCheck: Check = {
  about: 'Consent',
  async run({ database, config: { SECRET_KEY, SECRET_KEY_PREVIOUS } }) {
    if (!database || !SECRET_KEY) return []
    const keys = deriveKeys(SECRET_KEY, SECRET_KEY_PREVIOUS)
    const { count, isIncomplete } = await countLostRows(database.db, { keys, timeoutMs })
    const isUnknown = isIncomplete ? [ok('some endings are unknown: reading takes longer than two seconds')] : []
    if (count === 0) return [...isUnknown, ...(isIncomplete ? [] : [ok('each subscription that ended says why')])]
    return [
      warn(
        `${formatCount(count, 'subscription')} ended, and no key of this installation reads why (wants widening, or lost key)`,
        'Add the lost SECRET_KEY to SECRET_KEY_PREVIOUS. Otherwise they stay ended until their people confirm again.',
      ),
      ...isUnknown,
    ]
  },
}
