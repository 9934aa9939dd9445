import type { WebhookId } from '../../kernel/ids.ts'
import type { Timestamp } from '../../kernel/values/timestamps.ts'

export interface DeliveryOutcome {
  /** PENDING: the delivery could not be signed. It was not sent, and waits for its attempt. */
  status: 'SUCCEEDED' | 'FAILED' | 'PENDING'
  /** Null if the delivery was not attempted. */
  attemptedAt: Timestamp | null
  durationMs: number | null
  responseStatus: number | null
  responseBody: string | null
  error: string | null
}

export interface EndedDelivery {
  uuid: string
  webhookId: WebhookId
  outcome: DeliveryOutcome
}
