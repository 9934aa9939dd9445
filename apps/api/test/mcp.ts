/** Calls the tools of `POST /mcp`, for tests. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Pipeline } from '@rapport/core/pipelines/pipelines.schema.ts'
import { fillWorkspace } from './isolation-cases.ts'
import { freshAddress, freshEmail, type Json, type TestApi } from './testing.ts'

/** The two generations of the protocol: with `initialize`, and with the version in every request. */
export const eras = ['2025-11-25', '2026-07-28'] as const
export type Era = (typeof eras)[number]

/** Connects the official client by a real socket. Each request comes from a new address. */
export async function connectAgent(url: string, options: { key: string; era?: Era }): Promise<Client> {
  const mode = options.era === '2025-11-25' ? 'legacy' : { pin: '2026-07-28' }
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
    fetch: (input, init) => {
      const headers = new Headers(init?.headers)
      headers.set('authorization', `Bearer ${options.key}`)
      headers.set('x-forwarded-for', freshAddress())
      return fetch(input, { ...init, headers })
    },
  })
  await client.connect(transport)
  return client
}

export interface ToolResult<Value = Json> {
  isError: boolean
  /** The JSON of the text part. */
  value: Value
}

/** Sends one JSON-RPC request of the protocols of 2025. */
export function callMethod(api: TestApi, key: string, request: { method: string; params?: object }) {
  return api.call<Json & { result?: Json; error?: { code: number; message: string } }>('POST', '/mcp', {
    key,
    body: { jsonrpc: '2.0', id: 1, ...request },
  })
}

/** Calls a tool without a socket. Throws if the response is no result of a tool. */
export async function callTool<Value = Json>(
  api: TestApi,
  key: string,
  tool: { name: string; args?: object },
): Promise<ToolResult<Value>> {
  const params = { name: tool.name, arguments: tool.args ?? {} }
  const response = await callMethod(api, key, { method: 'tools/call', params })
  const { content, isError = false } = (response.body.result ?? {}) as {
    content?: [{ text: string }]
    isError?: boolean
  }
  if (response.status !== 200 || !content) throw new Error(`${tool.name} returned ${response.status}: ${response.text}`)
  return { isError, value: JSON.parse(content[0].text) as Value }
}

/** Creates a workspace with a record of each kind, and arguments for a successful call of each tool. */
export async function prepareTools(api: TestApi) {
  const workspace = await api.signUp()
  const ids = await fillWorkspace(api, workspace)
  const pipeline = (await api.call<Pipeline>('GET', `/pipelines/${ids.pipeline}`, { key: workspace.key })).body
  const subscriber = { contactId: ids.contact, status: 'CONFIRMED' }
  await api.create(`/lists/${ids.list}/subscribers`, workspace.key, subscriber)
  const optedOut = (await api.create<{ id: string }>('/contacts', workspace.key, { email: freshEmail() })).id
  await api.call('POST', `/contacts/${optedOut}/opt-out`, { key: workspace.key })
  await api.call('POST', `/campaigns/${ids.campaign}/send`, { key: workspace.key })
  const args: Record<string, object> = {
    search_contacts: { search: 'person', tags: ['secret'], emailSubscribedStatus: 'SUBSCRIBED', limit: 5 },
    get_contact: { contactId: ids.contact },
    upsert_contact: { email: freshEmail(), firstName: 'Ada', tags: ['vip'] },
    tag_contacts: { contactIds: [ids.contact], add: ['customer'], remove: ['secret'] },
    search_companies: { search: 'acme', limit: 5 },
    get_company: { companyId: ids.company },
    upsert_company: { name: 'Engines', domain: 'engines.example', tags: ['vip'] },
    opt_out_contact: { contactId: ids.contact, listId: ids.list, note: 'called' },
    undo_opt_out: { contactId: optedOut },
    deny_tracking: { contactId: ids.contact, note: 'called' },
    list_suppressions: { reason: 'MANUAL' },
    suppress_address: { email: freshEmail(), reason: 'OPTED_OUT', note: 'wrote a letter' },
    lift_suppression: { suppressionId: ids.suppression, note: 'by mistake' },
    create_task: { contactId: ids.contact, title: 'Call back', dueAt: '2030-01-01' },
    list_notes: { companyId: ids.company },
    create_note: { contactId: ids.contact, body: 'Called', kind: 'CALL' },
    list_lists: {},
    create_list: { name: 'Readers' },
    add_subscriber: { listId: ids.list, email: freshEmail() },
    list_segments: {},
    preview_segment: { segmentId: ids.segment },
    list_campaigns: { status: 'DRAFT', listId: ids.list },
    list_template_variables: {},
    draft_campaign: { name: 'November', subject: 'News', listId: ids.list, html: '<p>Hello</p>' },
    preview_campaign: { campaignId: ids.draft, contactId: ids.contact },
    campaign_report: { campaignId: ids.campaign },
    pause_campaign: { campaignId: ids.campaign },
    cancel_campaign: { campaignId: ids.campaign },
    list_templates: { status: 'ACTIVE' },
    get_email: { emailId: ids.email },
    list_domains: {},
    verify_domain: { domainId: ids.domain },
    send_test: { campaignId: ids.draft, email: workspace.email },
    send_campaign: { campaignId: ids.draft },
    list_pipelines: {},
    list_deals: { status: ['OPEN'], contactId: ids.contact },
    move_deal: { dealId: ids.deal, pipelineId: ids.emptyPipeline, status: 'WON' },
  }
  return { workspace, ids, args, pipeline }
}
