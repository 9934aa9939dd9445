/** The state of a story of consent, and what a person and a caller do over HTTP. See `tell-story.ts`. */
import { randomUUID } from 'node:crypto'
import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import type { Import } from '@rapport/core/imports/imports.schema.ts'
import { type ContactId, type ListId, uuidOf, type WorkspaceId } from '@rapport/core/kernel/ids.ts'
import { clearDeletedList } from '@rapport/core/lists/delete-list.ts'
import { unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import { preferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import type { MailHook } from '@rapport/core/mail-hooks/mail-hooks.schema.ts'
import type { Suppression } from '@rapport/core/suppressions/suppressions.schema.ts'
import { countLostRows } from '@rapport/core/consent/lost-rows.ts'
import { backdateMails } from '@rapport/testing/fixtures/factories.ts'
import { runQueuedImport } from '@rapport/testing/fixtures/imports.ts'
import { providerSecrets, signMessage } from '@rapport/testing/mail-providers/provider-messages.ts'
import { onTestFinished } from 'vitest'
import { type ApiResponse, type Call, startTestApi, type TestApi } from '../testing.ts'

export type Response = Pick<ApiResponse<unknown>, 'status'>

export interface Story {
  api: TestApi
  workspace: { id: string; key: string }
  lists: Record<string, ListId>
  emails: Record<string, string>
  /** The address that the person has now. */
  at: string
  /** Links that were mailed, by list. */
  links: Record<string, string>
  undoToken: string
  oldLink: string
  eventsSeen: number
  rowsSeen: string
}

export const call = ({ api, workspace }: Story, route: string, given: Call = {}) => {
  const [method = '', path = ''] = route.split(' ')
  return api.call<unknown>(method, path, { key: workspace.key, ...given })
}

export const listOf = ({ lists }: Story, name: string) => lists[name] as ListId
export const emailOf = ({ emails, at }: Story, name = at) => emails[name] ?? ''

export async function findContact(story: Story, name = story.at): Promise<ContactId | undefined> {
  const { body } = await call(story, `GET /contacts?email=${emailOf(story, name)}`)
  return (body as { data: Contact[] }).data[0]?.id
}

const ctxOf = ({ api, workspace }: Story) => api.ctx(workspace.id)
export const visit = ({ api }: Story, path: string, raw = '') =>
  api.call('POST', path, { raw, headers: { 'content-type': 'application/x-www-form-urlencoded' } })

/** The unsubscribe link of a newsletter that the person gets now. */
export async function linkOf(story: Story, list: string): Promise<string> {
  const contactId = (await findContact(story)) as ContactId
  return unsubscribeUrl(ctxOf(story), { contactId, listId: listOf(story, list), email: emailOf(story) })
}

export async function unsubscribe(story: Story, url: string) {
  const response = await visit(story, url.slice(new URL(url).origin.length))
  story.undoToken = /undo-unsubscribe\?token=([\w.-]+)/.exec(response.text)?.[1] ?? story.undoToken
  return response
}

export async function clickTwice(story: Story, list: string): Promise<Response> {
  const url = await linkOf(story, list)
  const statuses = (await Promise.all([unsubscribe(story, url), unsubscribe(story, url)])).map(({ status }) => status)
  return { status: Math.max(...statuses) }
}

/** Deletes a list, and clears it as the worker does. */
export async function deleteList(story: Story, list: string): Promise<Response> {
  const response = await call(story, `DELETE /lists/${listOf(story, list)}`)
  while (await clearDeletedList(ctxOf(story), uuidOf(listOf(story, list))));
  return response
}

/** Counts whom a campaign to the list would reach. */
export async function countAudience(story: Story, list: string): Promise<number> {
  const body = { name: 'News', subject: 'News', listId: listOf(story, list) }
  const { id } = await story.api.create<{ id: string }>('/campaigns', story.workspace.key, body)
  const audience = await call(story, `GET /campaigns/${id}/audience`)
  return (audience.body as { willReceive: number }).willReceive
}

export async function choose(story: Story, choice: string) {
  const contactId = (await findContact(story)) as ContactId
  const url = new URL(preferencesUrl(ctxOf(story), { contactId, email: emailOf(story) }))
  return visit(story, '/public/preferences', `token=${url.searchParams.get('token')}&${choice}`)
}

/** The limits on confirmations to an address are no part of a story. */
export async function ask(story: Story, list: string) {
  await backdateMails(story.api.database.db)
  const email = emailOf(story)
  const before = await story.api.tokenMailedTo(email)
  const response = await story.api.call('POST', `/public/lists/${listOf(story, list)}/subscribe`, { body: { email } })
  const token = await story.api.tokenMailedTo(email)
  if (token !== before) story.links[list] = token
  return response
}

export const report = (story: Story, body: object) =>
  call(story, 'POST /mail-events', { body: { email: emailOf(story), ...body } })

/** A mail provider reports that the person unsubscribed there. */
export async function optOutAtProvider(story: Story): Promise<Response> {
  const given = { provider: 'mailgun', secret: providerSecrets.mailgun }
  const { id, url } = await story.api.create<MailHook>('/mail-hooks', story.workspace.key, given)
  const event = { event: 'unsubscribed', recipient: emailOf(story), id: randomUUID() }
  const { headers, body } = signMessage.mailgun(event)
  const response = await story.api.call('POST', new URL(url).pathname, { raw: body, headers })
  await call(story, `DELETE /mail-hooks/${id}`)
  return response
}

export async function lift(story: Story, name = story.at): Promise<Response> {
  const { body } = await call(story, `GET /suppressions?email=${emailOf(story, name)}`)
  const responses: Response[] = []
  for (const { id } of (body as { data: Suppression[] }).data)
    responses.push(await call(story, `DELETE /suppressions/${id}`, { body: { note: 'It works again' } }))
  return responses.find(({ status }) => status < 400) ?? { status: 404 }
}

/** Imports a file with one row, of a list or of all. */
export function importRow(story: Story, [status = '', scope = '', date = '']: string[]) {
  const query = scope === 'all' ? '' : `?listId=${listOf(story, scope)}&consent=confirmed`
  return importFile(story, query, `email,status,unsubscribedAt\n${emailOf(story)},${status},${date}\n`)
}

/** Imports the export of the contact, which the request says is of people who left a list. */
export async function importExport(story: Story, [list = '']: string[]) {
  const { text } = await story.api.call('GET', '/contacts/export?format=csv', { key: story.workspace.key })
  const [header = '', ...rows] = text.split(/\r?\n/)
  const own = rows.filter((row) => row.includes(emailOf(story)))
  return importFile(story, `?listId=${listOf(story, list)}&status=UNSUBSCRIBED`, [header, ...own, ''].join('\n'))
}

async function importFile(story: Story, query: string, raw: string) {
  const headers = { 'content-type': 'text/csv' }
  const response = await call(story, `POST /contacts/import${query}`, { raw, headers })
  if (response.status === 202) await runQueuedImport(ctxOf(story), (response.body as Import).id)
  return response
}

export async function readStatus(story: Story, list: string): Promise<string> {
  const id = await findContact(story)
  const { body } = await call(story, `GET /lists/${listOf(story, list)}/subscribers/${id}`)
  return (body as { status?: string }).status ?? 'none'
}

/** The subscription events of the person, oldest first. */
export async function readEvents(story: Story): Promise<string[]> {
  const types = ['created', 'confirmed', 'unsubscribed'].map((name) => `type=subscription.${name}`).join('&')
  const { body } = await call(story, `GET /events?${types}&contactId=${await findContact(story)}`)
  return (body as { data: { type: string }[] }).data.map(({ type }) => type.replace('subscription.', '')).toReversed()
}

export const optOutPath = async (story: Story, scope: string) => {
  const query = scope === 'all' ? '' : `?listId=${listOf(story, scope)}`
  return `/contacts/${await findContact(story)}/opt-out${query}`
}

/** Starts the API again with another key. The former one is lost unless it is given. */
export async function changeKey(story: Story, former: { SECRET_KEY_PREVIOUS?: string }): Promise<Response> {
  const { database } = story.api
  story.api = await startTestApi({
    database,
    environment: { SECRET_KEY: 'another long secret key of tests', ...former },
  })
  onTestFinished(() => story.api.app.close())
  return { status: 200 }
}

/** The suppressions of any address, and until when it can be undone. */
export async function readRows({ api, workspace }: Story): Promise<string> {
  const text = `select id, undoable_until from suppressions where workspace_id = $1 order by id`
  return JSON.stringify(await api.query(text, [uuidOf(workspace.id as WorkspaceId)]))
}

/** What `rapport doctor` counts. */
export async function readLostRows(story: Story): Promise<string> {
  const { settings, db } = ctxOf(story)
  return String((await countLostRows(db, { keys: settings.keys, timeoutMs: 60_000 })).count)
}

export async function countMails(story: Story, name: string): Promise<string> {
  const [row] = await story.api.query('select count(*) from mails where to_address = $1', [emailOf(story, name)])
  return String(row?.['count'])
}
