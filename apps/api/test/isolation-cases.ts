/** The isolation cases: a workspace with one record of each kind, and for every route each way to name a record. */
import type { Me } from '@rapport/core/auth/auth.schema.ts'
import type { IdPrefix } from '@rapport/core/kernel/ids.ts'
import type { Pipeline } from '@rapport/core/pipelines/pipelines.schema.ts'
import { addVerifiedDomain } from '@rapport/testing/network/sending-domains.ts'
import { backdateMails, markDeliveriesFailed } from '@rapport/testing/fixtures/factories.ts'
import { aMailHook, anEmail, aTemplate, campaignCases, emailCases } from './isolation-campaigns.ts'
import { companyCases } from './isolation-companies.ts'
import { contactCases } from './isolation-contacts.ts'
import { dealCases } from './isolation-deals.ts'
import { mcpCases } from './isolation-mcp.ts'
import { consentCases, subscriberCases } from './isolation-consent.ts'
import { noteCases } from './isolation-notes.ts'
import { webhookCases } from './isolation-webhooks.ts'
import { eraseTestContact, openAnotherSession } from './records.ts'
import { freshEmail, type Json, type TestApi, type TestWorkspace } from './testing.ts'

/** The kinds of records that a request can name, with the prefix of their ids. */
const prefixes = {
  contact: 'con',
  erasedContact: 'con',
  company: 'cpy',
  /** For deletion: no deal names it. */
  spareCompany: 'cpy',
  list: 'lst',
  /** For deletion: nothing refers to it. */
  spareList: 'lst',
  suppression: 'sup',
  spareSuppression: 'sup',
  segment: 'seg',
  /** For deletion: no campaign has it. */
  spareSegment: 'seg',
  campaign: 'cmp',
  draft: 'cmp',
  template: 'tpl',
  /** For deletion: no email waits for it. */
  spareTemplate: 'tpl',
  email: 'mai',
  domain: 'dom',
  spareDomain: 'dom',
  webhook: 'whk',
  /** For deletion. */
  lastWebhook: 'whk',
  delivery: 'dlv',
  event: 'evt',
  apiKey: 'key',
  mailHook: 'mhk',
  /** For deletion. */
  lastMailHook: 'mhk',
  invite: 'inv',
  session: 'ses',
  member: 'usr',
  user: 'usr',
  workspace: 'wsp',
  customField: 'cfd',
  import: 'imp',
  form: 'frm',
  submission: 'sub',
  pipeline: 'pip',
  stage: 'stg',
  /** For deletion: it has no deals. */
  emptyPipeline: 'pip',
  deal: 'dea',
  task: 'tsk',
  note: 'nte',
} satisfies Record<string, IdPrefix>
type Kind = keyof typeof prefixes

export interface Ids extends Record<Kind, string> {
  externalId: string
  /** Three contacts to merge. */
  duplicates: [string, string, string]
}

export const unknownIds: Ids = {
  ...(Object.fromEntries(
    Object.entries(prefixes).map(([kind, prefix]) => [kind, `${prefix}_01kag7m3v9e8fs2t4w6x8y0z1b`]),
  ) as Record<Kind, string>),
  externalId: 'user_unknown',
  duplicates: ['con_01kag7m3v9e8fs2t4w6x8y0z1b', 'con_01kag7m3v9e8fs2t4w6x8y0z2c', 'con_01kag7m3v9e8fs2t4w6x8y0z3d'],
}

export interface Request {
  path: string
  body?: unknown
  raw?: string
  headers?: Record<string, string>
}

/** An upload instead of a JSON body. */
export const aFile = { raw: 'email\nada@example.com\n', headers: { 'content-type': 'text/csv' } }

export const aForm = {
  name: 'Contact us',
  fields: [
    { id: 'email', label: 'Email', type: 'EMAIL', mapsTo: 'email' },
    { id: 'news', label: 'Send me the newsletter', type: 'CONSENT' },
  ],
}

/** Creates one record of each kind. */
export async function fillWorkspace(api: TestApi, workspace: TestWorkspace): Promise<Ids> {
  const { id, key, token } = workspace
  const make = async (path: string, body: Json) => String((await api.create(path, key, body))['id'])
  const template = await make('/templates', aTemplate)
  const makeContact = () => make('/contacts', { email: freshEmail() })
  const erasedContact = await eraseTestContact(api, workspace, await makeContact())
  const list = await make('/lists', { name: 'Newsletter' })
  await make('/custom-fields', { key: 'stays', label: 'Stays', type: 'TEXT' })
  await make('/invites', { email: freshEmail(), role: 'VIEWER' })
  await make(`/lists/${list}/subscribers`, { email: 'both@example.com', status: 'CONFIRMED' })
  const externalId = `user_${id}`
  const company = await make('/companies', { name: 'Acme', domain: 'acme.example', externalId })
  const contact = await make('/contacts', { email: freshEmail(), externalId, companyId: company, tags: ['secret'] })
  const makePipeline = () =>
    api.create<Pipeline>('/pipelines', key, { name: 'Sales', stages: [{ name: 'Lead', winProbability: 10 }] })
  const pipeline = await makePipeline()
  const { body: me } = await api.call<Me>('GET', '/auth/me', { key: token })
  const form = await make('/forms', aForm)
  const submitted = await api.call('POST', `/public/forms/${form}/submit`, { body: { values: { news: true } } })
  const webhook = await make('/webhooks', { url: 'https://example.com', eventTypes: ['contact.deleted'] })
  const tested = await api.call('POST', `/webhooks/${webhook}/test`, { key })
  await markDeliveriesFailed(api.database.db)
  const invite = await make('/invites', { email: freshEmail(), role: 'MEMBER' })
  await backdateMails(api.database.db)
  return {
    workspace: id,
    list,
    contact,
    erasedContact,
    spareCompany: await make('/companies', { name: 'Spare', ownerId: me.user?.id }),
    externalId,
    pipeline: pipeline.id,
    stage: pipeline.stages[0]?.id ?? '',
    emptyPipeline: (await makePipeline()).id,
    company,
    deal: await make('/deals', {
      pipelineId: pipeline.id,
      contactId: contact,
      companyId: company,
      ownerId: me.user?.id,
    }),
    task: await make(`/contacts/${contact}/tasks`, { title: 'Call', assigneeId: me.user?.id }),
    note: await make('/notes', { body: 'secret', contactId: contact }),
    user: me.user?.id ?? '',
    campaign: await make('/campaigns', { name: 'a', subject: 'b', listId: list }),
    draft: await make('/campaigns', { name: 'a', subject: 'b', listId: list }),
    domain: (await addVerifiedDomain(api.ctx(id), 'example.com')).id,
    spareDomain: (await addVerifiedDomain(api.ctx(id), 'example.org')).id,
    webhook,
    lastWebhook: await make('/webhooks', { url: 'https://example.com', eventTypes: ['deal.deleted'] }),
    delivery: String(tested.body['id']),
    event: String(tested.body['eventId']),
    apiKey: await make('/api-keys', { name: 'to be revoked', role: 'VIEWER' }),
    mailHook: await make('/mail-hooks', aMailHook),
    lastMailHook: await make('/mail-hooks', aMailHook),
    invite,
    member: (await api.join(workspace, 'VIEWER')).id,
    session: await openAnotherSession(api, workspace),
    duplicates: [await makeContact(), await makeContact(), await makeContact()],
    customField: await make('/custom-fields', { key: 'plan', label: 'Plan', type: 'TEXT' }),
    form,
    submission: String(submitted.body['submissionId']),
    spareList: await make('/lists', { name: 'Spare' }),
    suppression: await make('/suppressions', { email: freshEmail(), reason: 'MANUAL' }),
    spareSuppression: await make('/suppressions', { email: freshEmail(), reason: 'MANUAL' }),
    template,
    spareTemplate: await make('/templates', aTemplate),
    email: String((await api.call('POST', '/emails', { key, body: anEmail(template, contact) })).body['id']),
    segment: await make('/segments', { name: 'All', filter: { field: 'email', isSet: true } }),
    spareSegment: await make('/segments', { name: 'Spare', filter: { field: 'email', isSet: true } }),
    import: String((await api.call('POST', '/contacts/import', { key, ...aFile })).body['id']),
  }
}

type MakeRequest = (ids: Ids, own: Ids) => Request

/** For every authenticated operation, each way to name a record: in the path, the query and the body. */
export const cases: Record<string, MakeRequest[]> = {
  'GET /auth/me': [],
  'POST /auth/logout': [],
  'POST /auth/resend-verification': [],
  'GET /api-keys': [({ member }) => ({ path: `/api-keys?createdBy=${member}` })],
  'POST /api-keys': [],
  'GET /api-keys/{id}': [({ apiKey }) => ({ path: `/api-keys/${apiKey}` })],
  'DELETE /api-keys/{id}': [({ apiKey }) => ({ path: `/api-keys/${apiKey}` })],
  'GET /workspace': [],
  'GET /workspace/usage': [],
  'PATCH /workspace': [],
  'DELETE /workspace': [],
  'GET /workspaces': [],
  'GET /sessions': [],
  'DELETE /sessions/{id}': [({ session }) => ({ path: `/sessions/${session}` })],
  'GET /audit-log': [({ member }) => ({ path: `/audit-log?actorId=${member}` })],
  'GET /invites': [],
  'POST /invites': [],
  'GET /invites/{id}': [({ invite }) => ({ path: `/invites/${invite}` })],
  'POST /invites/{id}/resend': [({ invite }) => ({ path: `/invites/${invite}/resend` })],
  'DELETE /invites/{id}': [({ invite }) => ({ path: `/invites/${invite}` })],
  'GET /members': [],
  'GET /members/{id}': [({ member }) => ({ path: `/members/${member}` })],
  'PATCH /members/{id}': [({ member }) => ({ path: `/members/${member}`, body: { role: 'MEMBER' } })],
  'DELETE /members/{id}': [({ member }) => ({ path: `/members/${member}` })],
  ...contactCases,
  'POST /contacts/import': [({ list }) => ({ path: `/contacts/import?listId=${list}&consent=confirmed`, ...aFile })],
  'POST /suppressions/import': [],
  'GET /imports': [],
  'GET /imports/{id}': [(ids) => ({ path: `/imports/${ids.import}` })],
  'DELETE /imports/{id}': [(ids) => ({ path: `/imports/${ids.import}` })],
  ...companyCases,
  ...consentCases,
  ...emailCases,
  'GET /lists': [],
  'POST /lists': [],
  'GET /lists/{id}': [({ list }) => ({ path: `/lists/${list}` })],
  'GET /lists/{id}/counts': [({ list }) => ({ path: `/lists/${list}/counts` })],
  'PATCH /lists/{id}': [({ list }) => ({ path: `/lists/${list}`, body: { name: 'taken over' } })],
  'DELETE /lists/{id}': [({ spareList }) => ({ path: `/lists/${spareList}` })],
  'POST /lists/{id}/subscribers': [
    ({ list }, own) => ({ path: `/lists/${list}/subscribers`, body: { contactId: own.contact, status: 'CONFIRMED' } }),
    ({ contact }, own) => ({
      path: `/lists/${own.list}/subscribers`,
      body: { contactId: contact, status: 'CONFIRMED' },
    }),
  ],
  ...subscriberCases,
  'GET /forms': [],
  'POST /forms': [({ list }) => ({ path: '/forms', body: { ...aForm, listId: list } })],
  'GET /forms/{id}': [({ form }) => ({ path: `/forms/${form}` })],
  'PATCH /forms/{id}': [
    ({ form }) => ({ path: `/forms/${form}`, body: { name: 'taken over' } }),
    ({ form }, own) => ({ path: `/forms/${form}`, body: { listId: own.list } }),
    ({ list }, own) => ({ path: `/forms/${own.form}`, body: { listId: list } }),
  ],
  'GET /forms/{id}/submissions': [({ form }) => ({ path: `/forms/${form}/submissions` })],
  'GET /forms/{id}/submissions/{submissionId}': [
    ({ form, submission }) => ({ path: `/forms/${form}/submissions/${submission}` }),
    ({ submission }, own) => ({ path: `/forms/${own.form}/submissions/${submission}` }),
  ],
  'DELETE /forms/{id}/submissions/{submissionId}': [
    ({ form, submission }) => ({ path: `/forms/${form}/submissions/${submission}` }),
  ],
  'DELETE /forms/{id}': [({ form }) => ({ path: `/forms/${form}` })],
  ...mcpCases,
  ...campaignCases,
  ...consentCases,
  ...webhookCases,
  'GET /pipelines': [],
  'POST /pipelines': [],
  'GET /pipelines/{id}': [({ pipeline }) => ({ path: `/pipelines/${pipeline}` })],
  'PATCH /pipelines/{id}': [
    ({ pipeline }) => ({ path: `/pipelines/${pipeline}`, body: { name: 'taken over' } }),
    ({ stage }, own) => ({ path: `/pipelines/${own.pipeline}`, body: { stages: [{ id: stage }] } }),
  ],
  'DELETE /pipelines/{id}': [({ emptyPipeline }) => ({ path: `/pipelines/${emptyPipeline}` })],
  'GET /pipelines/{id}/summary': [
    ({ pipeline }) => ({ path: `/pipelines/${pipeline}/summary` }),
    ({ user }, own) => ({ path: `/pipelines/${own.pipeline}/summary?ownerId=${user}` }),
    ({ company }, own) => ({ path: `/pipelines/${own.pipeline}/summary?companyId=${company}` }),
  ],
  ...noteCases,
  ...dealCases,
  'POST /contacts/{contactId}/tasks': [
    ({ contact }) => ({ path: `/contacts/${contact}/tasks`, body: { title: 'spy' } }),
    ({ user }, own) => ({ path: `/contacts/${own.contact}/tasks`, body: { title: 'spy', assigneeId: user } }),
  ],
  'GET /contacts/{contactId}/tasks': [({ contact }) => ({ path: `/contacts/${contact}/tasks` })],
  'GET /tasks': [
    ({ user }) => ({ path: `/tasks?assigneeId=${user}` }),
    ({ contact }) => ({ path: `/tasks?contactId=${contact}` }),
  ],
  'GET /tasks/{id}': [({ task }) => ({ path: `/tasks/${task}` })],
  'PATCH /tasks/{id}': [
    ({ task }) => ({ path: `/tasks/${task}`, body: { title: 'taken over' } }),
    ({ user }, own) => ({ path: `/tasks/${own.task}`, body: { assigneeId: user } }),
  ],
  'DELETE /tasks/{id}': [({ task }) => ({ path: `/tasks/${task}` })],
}
