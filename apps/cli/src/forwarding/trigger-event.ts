/** Sends an example event to a URL on the way of every event: recorded, taken by a worker, signed and delivered. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventType } from '@rapport/core/events/event-definition.ts'
import type { Rapport } from '@rapport/sdk'
import type { Api } from '../api-client.ts'
import { type CliContext, CommandFailed } from '../command.ts'
import type { ForwardedEvent } from './forwarded-event.ts'

const maxWaitMs = 30_000
const pollMs = 250

interface Trigger {
  /** The URL of the receiver. */
  forward: string
  type: EventType
}

export async function triggerEvent(
  { terminal, stopping: signal }: CliContext,
  { rapport }: Api,
  { forward, type }: Trigger,
): Promise<ForwardedEvent> {
  const existing = await findWebhook(rapport, forward)
  if (existing !== undefined) {
    terminal.log(`Sending to the webhook ${existing}, signed with its secret ...`)
    return await send(rapport, existing, { type, signal })
  }
  const { id, secret } = await rapport.webhooks.create({ url: forward, eventTypes: [type] })
  try {
    terminal.log(`Signing secret: ${secret}\nSending to a new webhook ...`)
    return await send(rapport, id, { type, signal })
  } finally {
    await rapport.webhooks.delete(id)
  }
}

async function findWebhook(rapport: Rapport, forward: string): Promise<string | undefined> {
  for await (const { id, url } of rapport.webhooks.list())
    if (url === new URL(forward).href || url === forward) return id
  return undefined
}

async function send(
  rapport: Rapport,
  webhookId: string,
  { type, signal }: { type: EventType; signal: AbortSignal },
): Promise<ForwardedEvent> {
  let delivery = await rapport.webhooks.test(webhookId, { type }, { signal })
  const endsAt = Date.now() + maxWaitMs
  while (delivery.status === 'PENDING') {
    if (Date.now() > endsAt) throw new CommandFailed('The delivery is still PENDING: no worker has taken it.')
    await sleep(pollMs, undefined, { signal })
    delivery = await rapport.webhooks.getDelivery(webhookId, delivery.id, { signal })
  }
  const { eventId: id, createdAt: timestamp, responseStatus: status, error, durationMs } = delivery
  return { event: { id, type, timestamp }, status, error: status === null ? error : null, durationMs: durationMs ?? 0 }
}
