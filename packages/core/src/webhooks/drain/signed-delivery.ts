import type { Settings } from '../../request/context.ts'
import { unseal } from '../../kernel/crypto.ts'
import type { EventId, WebhookId } from '../../kernel/ids.ts'
import { signBody } from '../signature.ts'

/** The URL of a webhook, and its sealed secrets. */
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

/** Returns the headers of a delivery, signed with the secret and with former secrets of the last 24 hours. */
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
