/** What the text that Redis answers to INFO says of how it is set up, without any library of it. */

/** Complaints about settings that would lose or refuse jobs. They would be made good by the outbox, but late. */
export function getRedisWarnings(info: string): string[] {
  const policy = getRedisInfoField(info, 'maxmemory_policy')
  return [
    policy && policy !== 'noeviction'
      ? [`Redis evicts keys (maxmemory-policy ${policy}): set it to noeviction, or jobs come late`]
      : [],
    getRedisInfoField(info, 'aof_enabled') === '0'
      ? ['Redis keeps no append-only file: after a restart waiting jobs are handed over again, set appendonly yes']
      : [],
  ].flat()
}

/** One line of INFO by its name; undefined when the server does not say. */
export function getRedisInfoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
}
