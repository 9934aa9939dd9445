import { findProgram, unpackDebianPackage } from '../processes/debian-package.ts'

const howToGetOne =
  'The tests need a Redis. Install one ("brew install redis", "apt install redis-server", "dnf install valkey"), ' +
  'or set REDIS_URL to one that the tests may fill and empty.'

/**
 * A Redis server program: redis-server or valkey-server on the PATH, else Debian's or Ubuntu's package unpacked into
 * node_modules/.cache, which leaves the machine as it is. Throws with how to get one when there is none.
 */
export async function findRedisServer(): Promise<string> {
  const installed = await findProgram(['redis-server', 'valkey-server'])
  if (installed) return installed
  const wanted = { name: 'redis-server', program: 'usr/bin/redis-server' }
  const unpacked = await unpackDebianPackage(wanted).catch((cause: unknown) => {
    throw new Error(`${howToGetOne} Fetching the package failed: ${String(cause)}`, { cause })
  })
  if (!unpacked) throw new Error(howToGetOne)
  return unpacked
}
