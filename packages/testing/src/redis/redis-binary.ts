import { findProgram, unpackDebianPackage } from '../processes/debian-package.ts'

const installHint =
  'The tests need a Redis server. Install one ("brew install redis", "apt install redis-server", "dnf install valkey"), ' +
  'or set REDIS_URL to a server whose data the tests may overwrite and delete.'

/**
 * Returns the path of redis-server or valkey-server: on the PATH, or unpacked from the Debian or Ubuntu package into
 * node_modules/.cache, which changes nothing else on the machine. If neither is possible, throws with an install hint.
 */
export async function findRedisServer(): Promise<string> {
  const installed = await findProgram(['redis-server', 'valkey-server'])
  if (installed) return installed
  const wanted = { name: 'redis-server', program: 'usr/bin/redis-server', otherPrograms: ['usr/bin/redis-cli'] }
  const unpacked = await unpackDebianPackage(wanted).catch((cause: unknown) => {
    throw new Error(`${installHint} Downloading the package failed: ${String(cause)}`, { cause })
  })
  if (!unpacked) throw new Error(installHint)
  return unpacked
}
