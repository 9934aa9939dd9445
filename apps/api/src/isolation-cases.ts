/** What the walk over other workspaces' ids sends: its shapes, and the requests that concern webhooks and events. */

/** The records that a request can name. */
export interface Ids {
  contact: string
  list: string
  campaign: string
  webhook: string
  /** One that may go. */
  lastWebhook: string
  delivery: string
  event: string
  apiKey: string
  workspace: string
  /** Three that are one person. */
  duplicates: [string, string, string]
  customField: string
  import: string
}

export interface Request {
  path: string
  body?: unknown
  raw?: string
  headers?: Record<string, string>
}

export type MakeRequest = (ids: Ids, own: Ids) => Request

export const webhookCases: Record<string, MakeRequest[]> = {
  'GET /webhooks': [],
  'POST /webhooks': [],
  'GET /webhooks/{id}': [({ webhook }) => ({ path: `/webhooks/${webhook}` })],
  'PATCH /webhooks/{id}': [({ webhook }) => ({ path: `/webhooks/${webhook}`, body: { enabled: true } })],
  'POST /webhooks/{id}/rotate-secret': [({ webhook }) => ({ path: `/webhooks/${webhook}/rotate-secret` })],
  'POST /webhooks/{id}/test': [({ webhook }) => ({ path: `/webhooks/${webhook}/test` })],
  'GET /webhooks/{id}/deliveries': [({ webhook }) => ({ path: `/webhooks/${webhook}/deliveries` })],
  'GET /webhooks/{id}/deliveries/{deliveryId}': [
    ({ webhook, delivery }) => ({ path: `/webhooks/${webhook}/deliveries/${delivery}` }),
    ({ delivery }, own) => ({ path: `/webhooks/${own.webhook}/deliveries/${delivery}` }),
  ],
  'POST /webhooks/{id}/deliveries/{deliveryId}/redeliver': [
    ({ webhook, delivery }) => ({ path: `/webhooks/${webhook}/deliveries/${delivery}/redeliver` }),
    ({ delivery }, own) => ({ path: `/webhooks/${own.webhook}/deliveries/${delivery}/redeliver` }),
  ],
  'POST /webhooks/{id}/redeliver': [
    ({ webhook }) => ({
      path: `/webhooks/${webhook}/redeliver`,
      body: { status: 'FAILED', since: '2026-01-01T00:00:00Z', until: '2036-01-01T00:00:00Z' },
    }),
  ],
  'DELETE /webhooks/{id}': [({ lastWebhook }) => ({ path: `/webhooks/${lastWebhook}` })],
  'GET /events': [({ event }) => ({ path: `/events?after=${event}` })],
  'GET /events/{id}': [({ event }) => ({ path: `/events/${event}` })],
  'GET /event-types': [],
}
