import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { readKeyState } from '@rapport/core/installation/key-check.ts'
import { countUnsignableWebhooks } from '@rapport/core/webhooks/rotate-secret.ts'
import { formatCount } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

const { ok, warn, fail } = findingsAbout('SECRET_KEY')
/** Minimum entropy. Random text of the minimum length has more, in any usual encoding. */
const minBits = 90

export const secretKeyCheck: Check = {
  about: 'SECRET_KEY',
  async run({ database, config: { SECRET_KEY, SECRET_KEY_PREVIOUS = [] } }) {
    if (!SECRET_KEY) return []
    const strength = isWeak(SECRET_KEY)
      ? warn(
          'looks like words or a pattern',
          'Use the output of "openssl rand -base64 32", and move the old key to SECRET_KEY_PREVIOUS.',
        )
      : ok('looks random')
    if (!database) return [strength]
    const keys = deriveKeys(SECRET_KEY, SECRET_KEY_PREVIOUS)
    const isWrong = (await readKeyState(database.db, keys)) === 'wrong'
    const lost = await countUnsignableWebhooks(database.db, keys)
    return [
      strength,
      ...(isWrong ? [fail('is not the key of this database: the API and the worker exit with code 78', advice)] : []),
      ...(lost > 0
        ? [fail(`${formatCount(lost, 'webhook')} cannot be signed: the secret is encrypted with another key`, advice)]
        : []),
    ]
  },
}

const advice = 'Add the old SECRET_KEY to SECRET_KEY_PREVIOUS, for the API and the worker.'

/** A key is weak if it consists of words, or if its characters have little entropy. */
function isWeak(key: string): boolean {
  const counts = [...Map.groupBy(key, (letter) => letter).values()].map((letters) => letters.length)
  const bitsEach = counts.reduce((sum, count) => sum - (count / key.length) * Math.log2(count / key.length), 0)
  const isWords = /^[a-z]+([^a-z0-9]+[a-z]+){2,}[^a-z0-9]*$/i.test(key)
  return isWords || bitsEach * key.length < minBits
}
