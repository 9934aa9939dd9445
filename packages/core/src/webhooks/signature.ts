/** What a receiver of webhooks gets: the body of an event, and the headers of Standard Webhooks 1.0 that vouch for it. */
import { createHmac, randomBytes } from 'node:crypto'
import type { EventId } from '../kernel/ids.ts'

/** A new secret to sign with, as receivers keep it. */
export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`

/** The exact text to sign and to send. `data` is JSON already. */
export function serializeEvent({ id, type, timestamp, data }: Record<'id' | 'type' | 'timestamp' | 'data', string>) {
  return `${JSON.stringify({ id, type, timestamp }).slice(0, -1)},"data":${data}}`
}

/** HMAC-SHA256 over `id.timestamp.body` by each of the secrets (`whsec_` and base64), so that a receiver may know any. */
export function signBody(
  { eventId, body }: { eventId: EventId; body: string },
  secrets: readonly string[],
  now = new Date(),
): Record<string, string> {
  const timestamp = Math.floor(now.getTime() / 1000)
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`).digest('base64')
  })
  return {
    'content-type': 'application/json',
    'user-agent': 'Rapport',
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  }
}
