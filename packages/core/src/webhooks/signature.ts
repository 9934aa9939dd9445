/** The body and the signature headers of a webhook request (Standard Webhooks 1.0). */
import { createHmac, randomBytes } from 'node:crypto'
import type { EventId } from '../kernel/ids.ts'

export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`

/** Returns the exact text to sign and to send. `data` is a JSON text. */
export function serializeEvent({ id, type, timestamp, data }: Record<'id' | 'type' | 'timestamp' | 'data', string>) {
  return `${JSON.stringify({ id, type, timestamp }).slice(0, -1)},"data":${data}}`
}

/** Signs `id.timestamp.body` with HMAC-SHA256, once per secret (`whsec_` and base64). One valid signature suffices. */
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
