/**
 * Receives webhooks. Each event is stored before the request is answered, and handled afterwards. The event feed is
 * read all the time, as a webhook is delivered at most once: an event that was missed arrives from there. An event has
 * the same id on both ways, so the second arrival is ignored.
 */
import { Rapport, type WebhookEvent } from '@rapport/sdk'
import { startHandling } from './handle-events.ts'
import { createServer } from './server.ts'
import { openStore } from './store.ts'
import { eventTypes, findOrCreateWebhook, findPosition } from './webhook.ts'

const { RAPPORT_API_URL: baseUrl = 'http://localhost:3000', RAPPORT_API_KEY: apiKey } = process.env
const { PORT: port = '4200', HOST: host = 'localhost', DATA_DIR: folder = 'data' } = process.env
const { WEBHOOK_URL: url = `http://localhost:${port}/webhooks` } = process.env
if (!apiKey) throw new Error('RAPPORT_API_KEY: is required. "npx --yes pnpm start" writes it to .rapport/local.env.')

const store = openStore(folder)
const handleEvents = startHandling(store)
const rapport = new Rapport({ baseUrl, apiKey })

const server = createServer({
  readSecret: () => store.readSetting('secret'),
  readTotals: store.readTotals,
  onEvent(event) {
    store.addEvent(event, 'webhook')
    handleEvents()
  },
})
// Before it creates a webhook: if another program uses the port, nothing is left behind.
await server.listen({ port: Number(port), host }).catch((error: unknown) => {
  console.error(`${String(error)}. The variable PORT sets another port.`)
  process.exit(1)
})
// The position first: all events after it are in the feed, also those before the webhook exists.
const position = await findPosition(rapport, store)
const webhook = await findOrCreateWebhook(rapport, store, url)
// Also ends the pause of a webhook whose receiver was down.
await rapport.webhooks.update(webhook.id, { url, eventTypes, enabled: true })
console.log(`Verified events arrive at ${url}, their totals are at http://localhost:${port}/`)

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
const onFeedEvent = (event: WebhookEvent) => {
  store.addFeedEvent(event)
  handleEvents()
}
await rapport.events.follow(position, onFeedEvent, {
  type: eventTypes,
  pollMs: 10_000,
  signal: stopping.signal,
  // Such as while Rapport restarts. The request is repeated.
  onError: (error) => console.error(error.message),
})
await server.close()
store.close()
