/** Keeps the addresses of customers as they are in Rapport. Its API key can read nothing: all that it learns is delivered. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { loadEnvFile } from 'node:process'
import { ConflictError, Rapport, unwrapWebhook, WebhookSignatureError } from '@rapport/sdk'
import { handleEvent } from './handle-event.ts'
import { openProduct } from './product.ts'

const { PORT: port = '4300', HOST: host = 'localhost', DATA_DIR: folder = 'data' } = process.env
loadEnvFile(join(folder, 'rapport.env'))
const { RAPPORT_API_URL: baseUrl = '', RAPPORT_API_KEY: apiKey = '' } = process.env
const { WEBHOOK_ID: webhookId = '', WEBHOOK_SECRET: secret = '' } = process.env

const product = openProduct(folder)

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    // The signature covers the body exactly as received.
    const body = Buffer.concat(await request.toArray())
    const event = await unwrapWebhook(body, request.headers, secret)
    console.log(handleEvent(product, event))
    response.writeHead(204).end()
  } catch (error) {
    const isForged = error instanceof WebhookSignatureError
    if (!isForged) console.error(error)
    // The delivery is then FAILED, and sent again after the next start.
    response.writeHead(isForged ? 400 : 500).end()
  }
}

const server = createServer((request, response) => void receive(request, response))
server.listen({ port: Number(port), host })
await once(server, 'listening').catch((error: unknown) => {
  console.error(`${String(error)}. The variable PORT sets another port.`)
  process.exit(1)
})
const createdAfter = new Date(Date.now() - 7 * 86_400_000).toISOString()
const redelivery = new Rapport({ baseUrl, apiKey }).webhooks.redeliver(webhookId, { createdAfter })
const { queued } = await redelivery.catch((error: unknown) => {
  if (!(error instanceof ConflictError && error.code === 'wrong_state')) throw error
  console.error('The webhook is disabled, such as after five days in which all deliveries failed. Run "connect" again.')
  process.exit(1)
})
console.log(`Waiting for changed addresses. ${queued} failed deliveries are sent again.`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => server.close(() => product.close()))
}
