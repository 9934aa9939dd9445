/** A program that a user of the generated client could write. It imports generated files, which exist in tests only. */
export const exampleProgram = `
import type { paths } from './schema.ts'
import { createClient, createConfig } from './client/client/index.ts'
import type { Contact, EventDealWonWebhookPayload } from './client/index.ts'
import { Rapport } from './client/sdk.gen.ts'

type CreatedContact = paths['/contacts']['post']['responses'][201]['content']['application/json']

const baseUrl = process.argv[2] ?? ''
const visitor = new Rapport({ key: 'visitor', client: createClient(createConfig({ baseUrl })) })
const signedUp = await visitor.auth.signUp({
  body: { email: 'ada@example.com', password: 'a long sentence that is secret' },
  throwOnError: true,
})
const rapport = new Rapport({ client: createClient(createConfig({ baseUrl, auth: signedUp.data.token })) })

const body = { email: 'grace@example.com', customFieldValues: {}, tags: ['navy'] }
const created = await rapport.contacts.create({ body, throwOnError: true })
const contact: Contact & CreatedContact = created.data
const page = await rapport.contacts.list({ query: { limit: 10, tag: ['navy'] }, throwOnError: true })
await rapport.contacts.delete({ path: { id: contact.id }, throwOnError: true })
const missing = await rapport.contacts.get({ path: { id: contact.id } })
const invalid = await rapport.contacts.create({ body: { email: 'not an address' } })

console.log(
  JSON.stringify({
    location: created.response.headers.get('location'),
    id: contact.id,
    listed: page.data.data.map(({ email }) => email),
    nextCursor: page.data.nextCursor,
    missing: missing.error?.code === 'not_found' && missing.error.message,
    invalid: invalid.error?.code === 'validation_error' && invalid.error.issues?.map(({ path }) => path),
  }),
)

export const statusOf = ({ data }: EventDealWonWebhookPayload): 'OPEN' | 'WON' | 'LOST' | 'redacted' =>
  'redacted' in data ? 'redacted' : data.status
`
