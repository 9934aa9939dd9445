/** The isolation cases of webhooks and events. */
interface Ids {
  webhook: string
  lastWebhook: string
  delivery: string
  event: string
  contact: string
}

/** Ordered so that each request succeeds for the owner: irreversible ones come last. */
export const webhookCases = {
  'GET /webhooks': [],
  'POST /webhooks': [],
  'GET /webhooks/{id}': [({ webhook }: Ids) => ({ path: `/webhooks/${webhook}` })],
  'PATCH /webhooks/{id}': [({ webhook }: Ids) => ({ path: `/webhooks/${webhook}`, body: { enabled: true } })],
  'POST /webhooks/{id}/rotate-secret': [({ webhook }: Ids) => ({ path: `/webhooks/${webhook}/rotate-secret` })],
  'POST /webhooks/{id}/test': [({ webhook }: Ids) => ({ path: `/webhooks/${webhook}/test` })],
  'GET /webhooks/{id}/deliveries': [({ webhook }: Ids) => ({ path: `/webhooks/${webhook}/deliveries` })],
  'GET /webhooks/{id}/deliveries/{deliveryId}': [
    ({ webhook, delivery }: Ids) => ({ path: `/webhooks/${webhook}/deliveries/${delivery}` }),
    ({ delivery }: Ids, own: Ids) => ({ path: `/webhooks/${own.webhook}/deliveries/${delivery}` }),
  ],
  'POST /webhooks/{id}/deliveries/{deliveryId}/redeliver': [
    ({ webhook, delivery }: Ids) => ({ path: `/webhooks/${webhook}/deliveries/${delivery}/redeliver` }),
    ({ delivery }: Ids, own: Ids) => ({ path: `/webhooks/${own.webhook}/deliveries/${delivery}/redeliver` }),
  ],
  'POST /webhooks/{id}/redeliver': [
    ({ webhook }: Ids) => ({
      path: `/webhooks/${webhook}/redeliver`,
      body: { createdAfter: '2026-01-01' },
    }),
  ],
  'DELETE /webhooks/{id}': [({ lastWebhook }: Ids) => ({ path: `/webhooks/${lastWebhook}` })],
  'GET /events': [
    ({ event }: Ids) => ({ path: `/events?after=${event}` }),
    ({ contact }: Ids) => ({ path: `/events?contactId=${contact}` }),
  ],
  'GET /events/{id}': [({ event }: Ids) => ({ path: `/events/${event}` })],
  'GET /event-types': [],
}
