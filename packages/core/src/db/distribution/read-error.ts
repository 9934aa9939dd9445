import type pg from 'pg'

/**
 * The name of the violated constraint. An error from another server has it only in its message, and with the number of
 * the shard.
 */
export function readConstraint({ constraint, message }: pg.DatabaseError): string | undefined {
  const name = constraint ?? /constraint "([^"]+)"/.exec(message)?.[1]
  return name?.replace(/_\d{6,}$/, '')
}

/** Whether a server of the cluster crashed during the statement, which Citus reports as an internal error. */
export function isServerLost({ message }: pg.DatabaseError): boolean {
  return /^(failure on connection marked as essential|server closed the connection unexpectedly)/.test(message)
}
