/** What a receiver gets: a body, and headers that are signed by its webhook's secrets. */
import type { Settings } from '../../request/context.ts'
import { unseal } from '../../kernel/crypto.ts'
import type { EventId, WebhookId } from '../../kernel/ids.ts'
import { signBody } from '../signature.ts'

/** Where the deliveries of a webhook go. The secrets are sealed. */
export interface Receiver {
  url: string
  encryptedSecret: string
  formerSecrets: { encrypted: string; until: string }[]
}

interface SignableDelivery {
  webhookId: WebhookId
  receiver: Receiver
  eventId: EventId
  body: string
}

/** The headers of a delivery, signed by the secret and by those that were replaced within the last day. */
export function signatureHeaders(
  { keys }: Pick<Settings, 'keys'>,
  { webhookId, receiver, ...delivery }: SignableDelivery,
  now = new Date(),
): Record<string, string> {
  const former = receiver.formerSecrets.filter(({ until }) => new Date(until) > now)
  const sealed = [receiver.encryptedSecret, ...former.map(({ encrypted }) => encrypted)]
  return signBody(
    delivery,
    sealed.map((secret) => unseal(keys, secret, webhookId)),
    now,
  )
}
