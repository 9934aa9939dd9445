/**
 * Run once, with the API key of an ADMIN: creates the webhook and the API key of this sync, and stores both secrets in
 * `rapport.env`. Run it again to replace them.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Rapport } from '@rapport/sdk'
import { openProduct } from './product.ts'

const { RAPPORT_API_URL: baseUrl = 'http://localhost:3000', RAPPORT_API_KEY: apiKey } = process.env
const { PORT: port = '4300', DATA_DIR: folder = 'data' } = process.env
const { WEBHOOK_URL: url = `http://localhost:${port}/webhooks` } = process.env
if (!apiKey) throw new Error('RAPPORT_API_KEY: is required. "npx --yes pnpm start" writes it to .rapport/local.env.')

const name = 'address-sync'
const rapport = new Rapport({ baseUrl, apiKey })

/** A contact belongs to a customer by its `externalId`. A product that has many customers: see saas-sync. */
async function createContacts(): Promise<void> {
  const product = openProduct(folder)
  const contacts = product.readCustomers().map(({ id, email }) => ({ externalId: id, email }))
  await rapport.contacts.batch({ contacts, onConflict: 'update' })
  product.close()
}

/** The webhook gets the updates that change an address. Rapport does not send any others. */
async function connectWebhook() {
  const settings = { eventTypes: ['contact.updated' as const], filter: { changed: ['email'] } }
  for await (const { id, url: existing } of rapport.webhooks.list()) {
    if (existing !== url) continue
    await rapport.webhooks.update(id, { ...settings, enabled: true })
    return rapport.webhooks.rotateSecret(id)
  }
  return rapport.webhooks.create({ url, ...settings })
}

/** The key can ask for failed deliveries again, and nothing else. */
async function replaceKey(): Promise<string> {
  for await (const { id, name: existing } of rapport.apiKeys.list()) {
    if (existing === name) await rapport.apiKeys.delete(id)
  }
  const { key } = await rapport.apiKeys.create({ name, role: 'MEMBER', rights: ['webhooks.redeliver'] })
  return key
}

const file = join(folder, 'rapport.env')
// Later, Rapport may have newer addresses than the product.
if (!existsSync(file)) await createContacts()
const webhook = await connectWebhook()
const variables = {
  RAPPORT_API_URL: baseUrl,
  RAPPORT_API_KEY: await replaceKey(),
  WEBHOOK_ID: webhook.id,
  WEBHOOK_SECRET: webhook.secret,
}
mkdirSync(folder, { recursive: true })
const lines = Object.entries(variables).map(([variable, value]) => `${variable}=${value}\n`)
writeFileSync(file, lines.join(''), { mode: 0o600 })
console.log(`Connected: changes of an address go to ${url}. ${file} has the key and the secret.`)
