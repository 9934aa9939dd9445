/** Reads the settings of Redis from the response to INFO. Imports no Redis library. */

/** Returns warnings about settings that lose jobs. Workers publish lost jobs again, but with a delay. */
export function getRedisWarnings(info: string): string[] {
  const policy = getRedisInfoField(info, 'maxmemory_policy')
  return [
    policy && policy !== 'noeviction'
      ? [`Redis evicts keys (maxmemory-policy ${policy}): set it to noeviction, otherwise jobs may be delayed`]
      : [],
    getRedisInfoField(info, 'aof_enabled') === '0'
      ? ['Redis keeps no append-only file: set appendonly yes, otherwise a restart delays waiting jobs']
      : [],
  ].flat()
}

/** Returns a field of the INFO response; undefined if the server does not report it. */
export function getRedisInfoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
}
