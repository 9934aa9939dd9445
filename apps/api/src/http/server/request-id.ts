import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The client's `x-request-id` if it is safe to log, otherwise a new id. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const id = headers['x-request-id']
  return typeof id === 'string' && /^[\w.:=+/-]{1,128}$/.test(id) ? id : randomUUID()
}
