import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { countUnsignableWebhooks } from '@rapport/core/webhooks/rotate-secret.ts'
import { type Check, findingsAbout } from './finding.ts'

const { ok, warn, fail } = findingsAbout('SECRET_KEY')
/** Random text of the least length that is taken has more, in any usual spelling. */
const leastBits = 90

export const secretKeyCheck: Check = {
  about: 'SECRET_KEY',
  async run({ database, config: { SECRET_KEY, SECRET_KEY_PREVIOUS = [] } }) {
    if (!SECRET_KEY) return []
    const strength = isWeak(SECRET_KEY)
      ? warn(
          'looks like words or a pattern',
          'Take the output of "openssl rand -base64 32", the former one in SECRET_KEY_PREVIOUS.',
        )
      : ok('looks random')
    if (!database) return [strength]
    const lost = await countUnsignableWebhooks(database.db, deriveKeys(SECRET_KEY, SECRET_KEY_PREVIOUS))
    if (lost === 0) return [strength]
    const what = `${lost} ${lost === 1 ? 'webhook' : 'webhooks'} cannot be signed, as the secret is sealed under another`
    return [strength, fail(what, 'Name the former SECRET_KEY in SECRET_KEY_PREVIOUS, in the API and the worker.')]
  },
}

/** By what its letters tell: how evenly they are spread, and whether they make words. */
export function isWeak(key: string): boolean {
  const counts = [...Map.groupBy(key, (letter) => letter).values()].map((letters) => letters.length)
  const bitsEach = counts.reduce((sum, count) => sum - (count / key.length) * Math.log2(count / key.length), 0)
  const isWords = /^[a-z]+([^a-z0-9]+[a-z]+){2,}[^a-z0-9]*$/i.test(key)
  return isWords || bitsEach * key.length < leastBits
}
