/** What the walk of isolation.int.test.ts asks of each route: every way to name a record in it. */
import { campaignCases } from './isolation-campaigns.ts'

/** The records that a request can name. */
export interface Ids {
  contact: string
  list: string
  campaign: string
  draft: string
  webhook: string
  /** One that may go. */
  lastWebhook: string
  delivery: string
  event: string
  apiKey: string
  invite: string
  session: string
  member: string
  workspace: string
  /** Three that are one person. */
  duplicates: [string, string, string]
  customField: string
  import: string
  form: string
  submission: string
  /** To be deleted: nothing hangs on it. */
  spareList: string
  pipeline: string
  stage: string
  /** A pipeline without deals, to be deleted. */
  emptyPipeline: string
  deal: string
  task: string
  user: string
}

export const nobodys: Ids = {
  contact: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
  list: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
  campaign: 'cmp_01kag7m3v9e8fs2t4w6x8y0z1b',
  draft: 'cmp_01kag7m3v9e8fs2t4w6x8y0z1b',
  webhook: 'whk_01kag7m3v9e8fs2t4w6x8y0z1b',
  lastWebhook: 'whk_01kag7m3v9e8fs2t4w6x8y0z1b',
  delivery: 'dlv_01kag7m3v9e8fs2t4w6x8y0z1b',
  event: 'evt_01kag7m3v9e8fs2t4w6x8y0z1b',
  apiKey: 'key_01kag7m3v9e8fs2t4w6x8y0z1b',
  invite: 'inv_01kag7m3v9e8fs2t4w6x8y0z1b',
  session: 'ses_01kag7m3v9e8fs2t4w6x8y0z1b',
  member: 'usr_01kag7m3v9e8fs2t4w6x8y0z1b',
  workspace: 'wsp_01kag7m3v9e8fs2t4w6x8y0z1b',
  duplicates: ['con_01kag7m3v9e8fs2t4w6x8y0z1b', 'con_01kag7m3v9e8fs2t4w6x8y0z2c', 'con_01kag7m3v9e8fs2t4w6x8y0z3d'],
  customField: 'cfd_01kag7m3v9e8fs2t4w6x8y0z1b',
  import: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b',
  form: 'frm_01kag7m3v9e8fs2t4w6x8y0z1b',
  submission: 'sub_01kag7m3v9e8fs2t4w6x8y0z1b',
  spareList: 'lst_01kag7m3v9e8fs2t4w6x8y0z2c',
  pipeline: 'pip_01kag7m3v9e8fs2t4w6x8y0z1b',
  stage: 'stg_01kag7m3v9e8fs2t4w6x8y0z1b',
  emptyPipeline: 'pip_01kag7m3v9e8fs2t4w6x8y0z1b',
  deal: 'dea_01kag7m3v9e8fs2t4w6x8y0z1b',
  task: 'tsk_01kag7m3v9e8fs2t4w6x8y0z1b',
  user: 'usr_01kag7m3v9e8fs2t4w6x8y0z1b',
}

export interface Request {
  path: string
  body?: unknown
  raw?: string
  headers?: Record<string, string>
}

/** In place of a body of JSON. */
export const aFile = { raw: 'email\nada@example.com\n', headers: { 'content-type': 'text/csv' } }

export const aForm = {
  name: 'Contact us',
  fields: [
    { id: 'email', label: 'Email', type: 'EMAIL', mapsTo: 'email' },
    { id: 'news', label: 'Send me the letter', type: 'CONSENT' },
  ],
}

type MakeRequest = (ids: Ids, own: Ids) => Request

/** For every operation that takes a credential, each way to name a record in it: in the path, the query and the body. */
export const cases: Record<string, MakeRequest[]> = {
  'GET /auth/me': [],
  'POST /auth/logout': [],
  'POST /auth/resend-verification': [],
  'GET /api-keys': [({ member }) => ({ path: `/api-keys?createdBy=${member}` })],
  'POST /api-keys': [],
  'DELETE /api-keys/{id}': [({ apiKey }) => ({ path: `/api-keys/${apiKey}` })],
  'GET /workspace': [],
  'PATCH /workspace': [],
  'DELETE /workspace': [],
  'GET /workspaces': [],
  'GET /sessions': [],
  'DELETE /sessions/{id}': [({ session }) => ({ path: `/sessions/${session}` })],
  'GET /audit-log': [({ member }) => ({ path: `/audit-log?actorId=${member}` })],
  'GET /invites': [],
  'POST /invites': [],
  'POST /invites/{id}/resend': [({ invite }) => ({ path: `/invites/${invite}/resend` })],
  'DELETE /invites/{id}': [({ invite }) => ({ path: `/invites/${invite}` })],
  'GET /members': [],
  'PATCH /members/{id}': [({ member }) => ({ path: `/members/${member}`, body: { role: 'MEMBER' } })],
  'DELETE /members/{id}': [({ member }) => ({ path: `/members/${member}?revokeApiKeys=true` })],
  'GET /contacts': [({ list }) => ({ path: `/contacts?listId=${list}` })],
  'POST /contacts': [],
  'PUT /contacts': [],
  'GET /contacts/{id}': [({ contact }) => ({ path: `/contacts/${contact}` })],
  'PATCH /contacts/{id}': [({ contact }) => ({ path: `/contacts/${contact}`, body: { firstName: 'taken over' } })],
  'GET /contacts/{id}/activity': [({ contact }) => ({ path: `/contacts/${contact}/activity` })],
  'POST /contacts/{id}/tags': [({ contact }) => ({ path: `/contacts/${contact}/tags`, body: { tags: ['a'] } })],
  'DELETE /contacts/{id}/tags/{tag}': [({ contact }) => ({ path: `/contacts/${contact}/tags/secret` })],
  'POST /contacts/{id}/merge': [
    ({ duplicates: [one] }, own) => ({ path: `/contacts/${one}/merge`, body: { contactId: own.duplicates[1] } }),
    ({ duplicates: [, , three] }, own) => ({
      path: `/contacts/${own.duplicates[0]}/merge`,
      body: { contactId: three },
    }),
  ],
  'DELETE /contacts/{id}': [({ duplicates: [one] }) => ({ path: `/contacts/${one}` })],
  'GET /contacts/export': [({ list }) => ({ path: `/contacts/export?listId=${list}` })],
  'POST /contacts/import': [({ list }) => ({ path: `/contacts/import?listId=${list}&consent=confirmed`, ...aFile })],
  'GET /imports': [],
  'GET /imports/{id}': [(ids) => ({ path: `/imports/${ids.import}` })],
  'GET /custom-fields': [],
  'POST /custom-fields': [],
  'PATCH /custom-fields/{id}': [({ customField }) => ({ path: `/custom-fields/${customField}`, body: { label: 'a' } })],
  'DELETE /custom-fields/{id}': [({ customField }) => ({ path: `/custom-fields/${customField}` })],
  'GET /lists': [],
  'POST /lists': [],
  'GET /lists/{id}': [({ list }) => ({ path: `/lists/${list}` })],
  'PATCH /lists/{id}': [({ list }) => ({ path: `/lists/${list}`, body: { name: 'taken over' } })],
  'DELETE /lists/{id}': [({ spareList }) => ({ path: `/lists/${spareList}` })],
  'POST /lists/{id}/subscribers': [
    ({ list }, own) => ({ path: `/lists/${list}/subscribers`, body: { contactId: own.contact, status: 'CONFIRMED' } }),
    ({ contact }, own) => ({
      path: `/lists/${own.list}/subscribers`,
      body: { contactId: contact, status: 'CONFIRMED' },
    }),
  ],
  'GET /lists/{id}/subscribers': [({ list }) => ({ path: `/lists/${list}/subscribers` })],
  'GET /lists/{id}/subscribers/{contactId}': [
    ({ list }, own) => ({ path: `/lists/${list}/subscribers/${own.contact}` }),
    ({ contact }, own) => ({ path: `/lists/${own.list}/subscribers/${contact}` }),
  ],
  'DELETE /lists/{id}/subscribers/{contactId}': [
    ({ list }, own) => ({ path: `/lists/${list}/subscribers/${own.contact}` }),
    ({ contact }, own) => ({ path: `/lists/${own.list}/subscribers/${contact}` }),
  ],
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
  'GET /campaigns': [],
  'POST /campaigns': [({ list }) => ({ path: '/campaigns', body: { name: 'a', subject: 'b', listId: list } })],
  'GET /campaigns/{id}': [({ campaign }) => ({ path: `/campaigns/${campaign}` })],
  'PATCH /campaigns/{id}': [
    ({ campaign }) => ({ path: `/campaigns/${campaign}`, body: { name: 'taken over' } }),
    ({ campaign }, own) => ({ path: `/campaigns/${campaign}`, body: { listId: own.list } }),
    ({ list }, own) => ({ path: `/campaigns/${own.campaign}`, body: { listId: list } }),
  ],
  'POST /campaigns/{id}/send': [({ campaign }) => ({ path: `/campaigns/${campaign}/send` })],
  'POST /campaigns/{id}/send-test': [
    ({ campaign }) => ({ path: `/campaigns/${campaign}/send-test`, body: { email: 'eve@example.com' } }),
    ({ contact }, own) => ({
      path: `/campaigns/${own.campaign}/send-test`,
      body: { email: 'eve@example.com', contactId: contact },
    }),
  ],
  ...campaignCases,
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
  'GET /pipelines': [],
  'POST /pipelines': [],
  'GET /pipelines/{id}': [({ pipeline }) => ({ path: `/pipelines/${pipeline}` })],
  'PATCH /pipelines/{id}': [
    ({ pipeline }) => ({ path: `/pipelines/${pipeline}`, body: { name: 'taken over' } }),
    ({ stage }, own) => ({ path: `/pipelines/${own.pipeline}`, body: { stages: [{ id: stage }] } }),
  ],
  'DELETE /pipelines/{id}': [({ emptyPipeline }) => ({ path: `/pipelines/${emptyPipeline}` })],
  'GET /pipelines/{id}/summary': [({ pipeline }) => ({ path: `/pipelines/${pipeline}/summary` })],
  'GET /deals': [
    ({ pipeline }) => ({ path: `/deals?pipelineId=${pipeline}` }),
    ({ stage }) => ({ path: `/deals?stageId=${stage}` }),
    ({ contact }) => ({ path: `/deals?contactId=${contact}` }),
  ],
  'POST /deals': [
    ({ pipeline }, own) => ({ path: '/deals', body: { pipelineId: pipeline, contactId: own.contact } }),
    ({ contact }, own) => ({ path: '/deals', body: { pipelineId: own.pipeline, contactId: contact } }),
    ({ stage }, own) => ({
      path: '/deals',
      body: { pipelineId: own.pipeline, stageId: stage, contactId: own.contact },
    }),
  ],
  'GET /deals/{id}': [({ deal }) => ({ path: `/deals/${deal}` })],
  'PATCH /deals/{id}': [
    ({ deal }) => ({ path: `/deals/${deal}`, body: { name: 'taken over' } }),
    ({ pipeline }, own) => ({ path: `/deals/${own.deal}`, body: { pipelineId: pipeline } }),
    ({ stage }, own) => ({ path: `/deals/${own.deal}`, body: { stageId: stage } }),
    ({ contact }, own) => ({ path: `/deals/${own.deal}`, body: { contactId: contact } }),
  ],
  'GET /deals/{id}/activity': [({ deal }) => ({ path: `/deals/${deal}/activity` })],
  'DELETE /deals/{id}': [({ deal }) => ({ path: `/deals/${deal}` })],
  'POST /contacts/{contactId}/tasks': [
    ({ contact }) => ({ path: `/contacts/${contact}/tasks`, body: { title: 'spy' } }),
    ({ user }, own) => ({ path: `/contacts/${own.contact}/tasks`, body: { title: 'spy', assigneeId: user } }),
  ],
  'GET /contacts/{contactId}/tasks': [({ contact }) => ({ path: `/contacts/${contact}/tasks` })],
  'GET /tasks': [({ user }) => ({ path: `/tasks?assigneeId=${user}` })],
  'GET /tasks/{id}': [({ task }) => ({ path: `/tasks/${task}` })],
  'PATCH /tasks/{id}': [
    ({ task }) => ({ path: `/tasks/${task}`, body: { title: 'taken over' } }),
    ({ user }, own) => ({ path: `/tasks/${own.task}`, body: { assigneeId: user } }),
  ],
  'DELETE /tasks/{id}': [({ task }) => ({ path: `/tasks/${task}` })],
}
