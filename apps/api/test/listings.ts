/** Every listing of the API, with a function that adds a record to it. */
import { Id } from '@rapport/core/kernel/ids.ts'
import { addTestDomain } from '@rapport/testing/network/sending-domains.ts'
import { addTestMember, addTestMembership, addTestRecipient } from '@rapport/testing/fixtures/listing-rows.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { aFile, aForm } from './isolation-cases.ts'
import { aTemplate } from './isolation-campaigns.ts'
import { freshEmail, type Json, type TestApi, type TestWorkspace } from './testing.ts'

interface Fixture {
  api: TestApi
  workspace: TestWorkspace
  /** The ids of the records whose nested listings are tested, by the first part of the path. */
  parents: Record<string, string>
}

/** Creates the records to which the nested listings belong. */
export async function createParents(api: TestApi, workspace: TestWorkspace): Promise<Fixture> {
  const create = async (path: string, body: Json) => String((await api.create(path, workspace.key, body))['id'])
  const contacts = await create('/contacts', { email: freshEmail() })
  const lists = await create('/lists', { name: 'Newsletter' })
  const [{ id: pipelineId } = {}] = await readItems({ api, workspace }, '/pipelines')
  const parents = {
    contacts,
    companies: await create('/companies', { name: 'Acme' }),
    lists,
    segments: await create('/segments', { name: 'All', filter: { field: 'email', isSet: true } }),
    campaigns: await create('/campaigns', { name: 'November', subject: 'News', listId: lists }),
    forms: await create('/forms', aForm),
    templates: await create('/templates', aTemplate),
    webhooks: await create('/webhooks', { url: 'https://example.com', eventTypes: ['deal.deleted'] }),
    deals: await create('/deals', { pipelineId, contactId: contacts }),
  }
  return { api, workspace, parents }
}

/**
 * Waits until the feed shows every event, for good: until all earlier transactions of the server have ended, also those
 * of other databases, as one that is just ending can hide events again.
 */
export async function waitForFeed(api: TestApi): Promise<void> {
  const areShown = 'max(transaction_id::text::bigint) < pg_snapshot_xmin(pg_current_snapshot())::text::bigint'
  await waitUntil(async () => (await api.query(`select ${areShown} as done from events`))[0]?.['done'], {
    describe: 'the feed shows every event',
  })
}

/** The path of a listing: `/lists/{id}/subscribers` with the id of the parent. */
export function pathOf(template: string, { parents }: Pick<Fixture, 'parents'>): string {
  return template.replace(/^\/(\w+)\/\{\w+\}/, (_, collection: string) => `/${collection}/${parents[collection]}`)
}

let count = 0
/** A number that is unique in this test file. */
function nextNumber(): number {
  count += 1
  return count
}

const create = ({ api, workspace }: Fixture, path: string, body: Json) => api.create(path, workspace.key, body)
const createContact = (fixture: Fixture) => create(fixture, '/contacts', { email: freshEmail() })
const readItems = async ({ api, workspace }: Pick<Fixture, 'api' | 'workspace'>, path: string) =>
  (await api.call<{ data: Json[] }>('GET', path, { key: workspace.key })).body.data

export const recordMakers: Record<string, (fixture: Fixture) => Promise<unknown>> = {
  '/contacts': createContact,
  '/contacts/{id}/activity': ({ api, workspace, parents }) =>
    api.call('PATCH', `/contacts/${parents['contacts']}`, {
      key: workspace.key,
      body: { firstName: `Ada ${nextNumber()}` },
    }),
  '/contacts/{contactId}/tasks': (fixture) =>
    create(fixture, `/contacts/${fixture.parents['contacts']}/tasks`, { title: 'Call' }),
  '/companies': (fixture) => create(fixture, '/companies', { name: 'Acme' }),
  '/companies/{id}/contacts': (fixture) =>
    create(fixture, '/contacts', { email: freshEmail(), companyId: fixture.parents['companies'] }),
  '/companies/{id}/activity': ({ api, workspace, parents }) =>
    api.call('PATCH', `/companies/${parents['companies']}`, {
      key: workspace.key,
      body: { name: `Acme ${nextNumber()}` },
    }),
  '/lists': (fixture) => create(fixture, '/lists', { name: 'Newsletter' }),
  '/suppressions': (fixture) => create(fixture, '/suppressions', { email: freshEmail(), reason: 'MANUAL' }),
  '/segments': (fixture) => create(fixture, '/segments', { name: 'Pro', filter: { field: 'email', isSet: true } }),
  '/segments/{id}/contacts': createContact,
  '/lists/{id}/subscribers': (fixture) =>
    create(fixture, `/lists/${fixture.parents['lists']}/subscribers`, { email: freshEmail(), status: 'CONFIRMED' }),
  '/webhooks': (fixture) => create(fixture, '/webhooks', { url: 'https://example.com', eventTypes: ['*'] }),
  '/webhooks/{id}/deliveries': ({ api, workspace, parents }) =>
    api.call('POST', `/webhooks/${parents['webhooks']}/test`, { key: workspace.key }),
  '/domains': ({ api, workspace }) => addTestDomain(api.ctx(workspace.id), `host${nextNumber()}.example.com`),
  '/api-keys': (fixture) => create(fixture, '/api-keys', { name: 'Key' }),
  '/mail-hooks': (fixture) => create(fixture, '/mail-hooks', { provider: 'mailgun', secret: 'key-0123456789abcdef' }),
  '/campaigns': (fixture) =>
    create(fixture, '/campaigns', { name: 'November', subject: 'News', listId: fixture.parents['lists'] }),
  '/campaigns/{id}/recipients': ({ api, parents }) =>
    addTestRecipient(api.database.db, Id('cmp').parse(parents['campaigns'])),
  '/templates': (fixture) => create(fixture, '/templates', aTemplate),
  '/emails': ({ api, workspace, parents }) =>
    api.call('POST', '/emails', {
      key: workspace.key,
      body: { templateId: parents['templates'], to: { email: freshEmail() } },
    }),
  '/custom-fields': (fixture) =>
    create(fixture, '/custom-fields', { key: `field${nextNumber()}`, label: 'Field', type: 'TEXT' }),
  '/invites': (fixture) => create(fixture, '/invites', { email: freshEmail(), role: 'VIEWER' }),
  '/members': ({ api, workspace }) => addTestMember(api.database.db, Id('wsp').parse(workspace.id), freshEmail()),
  '/sessions': ({ api, workspace: { email, password } }) =>
    api.call('POST', '/auth/login', { body: { email, password } }),
  '/workspaces': ({ api, workspace }) => addTestMembership(api.database.db, workspace.email),
  '/audit-log': ({ api, workspace }) =>
    api.call('PATCH', '/workspace', { key: workspace.key, body: { fromName: freshEmail() } }),
  '/imports': ({ api, workspace }) => api.call('POST', '/contacts/import', { key: workspace.key, ...aFile }),
  '/forms': (fixture) => create(fixture, '/forms', aForm),
  '/forms/{id}/submissions': ({ api, parents }) =>
    api.call('POST', `/public/forms/${parents['forms']}/submit`, { body: { values: { news: true } } }),
  '/events': createContact,
  '/pipelines': (fixture) => create(fixture, '/pipelines', { name: 'More', stages: [{ name: 'Lead' }] }),
  '/deals': async (fixture) => {
    const [{ pipelineId, contactId } = {}] = await readItems(fixture, '/deals')
    return create(fixture, '/deals', { pipelineId, contactId })
  },
  '/deals/{id}/activity': ({ api, workspace, parents }) =>
    api.call('PATCH', `/deals/${parents['deals']}`, {
      key: workspace.key,
      body: { status: nextNumber() % 2 === 0 ? 'WON' : 'LOST' },
    }),
  '/notes': (fixture) => create(fixture, '/notes', { body: 'Called', contactId: fixture.parents['contacts'] }),
  '/tasks': (fixture) => create(fixture, `/contacts/${fixture.parents['contacts']}/tasks`, { title: 'Call' }),
}

export const listings = Object.keys(recordMakers)

/** Adds records to every listing. */
export async function fillListings(fixture: Fixture, recordsEach: number): Promise<void> {
  for (const make of Object.values(recordMakers)) for (let n = 0; n < recordsEach; n++) await make(fixture)
}

/** The templates of all listings in the OpenAPI document. */
export async function readListingTemplates(api: TestApi): Promise<string[]> {
  const { body } = await api.call<{ paths: Record<string, { get?: { parameters?: { name: string }[] } }> }>(
    'GET',
    '/openapi.json',
  )
  return Object.entries(body.paths).flatMap(([template, { get }]) =>
    get?.parameters?.some(({ name }) => name === 'cursor') ? [template] : [],
  )
}
