/** The isolation cases of the tools of agents: for every tool, each way to name a record. */
interface Ids {
  contact: string
  company: string
  externalId: string
  list: string
  suppression: string
  campaign: string
  email: string
  segment: string
  draft: string
  domain: string
  pipeline: string
  stage: string
  deal: string
  user: string
}

/** The address of the caller: `send_test` sends only to members. */
export const eveEmail = 'eve@example.com'

const callTool = (name: string, args: object) => ({
  path: '/mcp',
  body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
})

/** No tool deletes a record, but a campaign can be sent only once, so `send_campaign` is last. */
export const mcpToolCases = {
  search_contacts: [
    ({ list }: Ids) => callTool('search_contacts', { listId: list }),
    ({ externalId }: Ids) => callTool('search_contacts', { externalId }),
    ({ company }: Ids) => callTool('search_contacts', { companyId: company }),
  ],
  get_contact: [({ contact }: Ids) => callTool('get_contact', { contactId: contact })],
  upsert_contact: [
    ({ externalId }: Ids) => callTool('upsert_contact', { externalId, firstName: 'taken over' }),
    ({ company }: Ids) => callTool('upsert_contact', { email: 'spy@example.com', companyId: company }),
  ],
  tag_contacts: [
    ({ contact }: Ids) => callTool('tag_contacts', { contactIds: [contact], add: ['taken over'] }),
    ({ contact }: Ids, own: Ids) =>
      callTool('tag_contacts', { contactIds: [own.contact, contact], remove: ['secret'] }),
  ],
  create_task: [
    ({ contact }: Ids) => callTool('create_task', { contactId: contact, title: 'Call' }),
    ({ user }: Ids, own: Ids) => callTool('create_task', { contactId: own.contact, title: 'Call', assigneeId: user }),
  ],
  search_companies: [({ user }: Ids) => callTool('search_companies', { ownerId: user })],
  get_company: [({ company }: Ids) => callTool('get_company', { companyId: company })],
  upsert_company: [
    ({ user }: Ids) => callTool('upsert_company', { name: 'Acme', domain: 'mcp.example', ownerId: user }),
  ],
  list_notes: [
    ({ contact }: Ids) => callTool('list_notes', { contactId: contact }),
    ({ company }: Ids) => callTool('list_notes', { companyId: company }),
    ({ deal }: Ids) => callTool('list_notes', { dealId: deal }),
  ],
  create_note: [
    ({ contact }: Ids) => callTool('create_note', { contactId: contact, body: 'spy' }),
    ({ company }: Ids) => callTool('create_note', { companyId: company, body: 'spy' }),
    ({ deal }: Ids) => callTool('create_note', { dealId: deal, body: 'spy' }),
  ],
  opt_out_contact: [
    ({ contact }: Ids) => callTool('opt_out_contact', { contactId: contact }),
    ({ list }: Ids, own: Ids) => callTool('opt_out_contact', { contactId: own.contact, listId: list }),
  ],
  undo_opt_out: [({ contact }: Ids, own: Ids) => callTool('undo_opt_out', { contactId: contact, listId: own.list })],
  deny_tracking: [({ contact }: Ids) => callTool('deny_tracking', { contactId: contact })],
  list_suppressions: [({ list }: Ids) => callTool('list_suppressions', { listId: list })],
  suppress_address: [
    ({ list }: Ids) => callTool('suppress_address', { email: 'ada@example.com', reason: 'OPTED_OUT', listId: list }),
  ],
  lift_suppression: [
    ({ suppression }: Ids) => callTool('lift_suppression', { suppressionId: suppression, note: 'spy' }),
  ],
  list_lists: [],
  create_list: [],
  add_subscriber: [
    ({ list }: Ids, own: Ids) => callTool('add_subscriber', { listId: list, contactId: own.contact }),
    ({ contact }: Ids, own: Ids) => callTool('add_subscriber', { listId: own.list, contactId: contact }),
  ],
  list_segments: [],
  preview_segment: [
    ({ segment }: Ids) => callTool('preview_segment', { segmentId: segment }),
    ({ list }: Ids) => callTool('preview_segment', { filter: { list } }),
  ],
  list_templates: [],
  get_email: [({ email }: Ids) => callTool('get_email', { emailId: email })],
  list_campaigns: [({ list }: Ids) => callTool('list_campaigns', { listId: list })],
  list_template_variables: [],
  draft_campaign: [
    ({ draft }: Ids) => callTool('draft_campaign', { campaignId: draft, name: 'taken over' }),
    ({ list }: Ids) => callTool('draft_campaign', { name: 'a', subject: 'b', listId: list }),
    ({ list }: Ids, own: Ids) => callTool('draft_campaign', { campaignId: own.draft, listId: list }),
    ({ segment }: Ids, own: Ids) => callTool('draft_campaign', { campaignId: own.draft, segmentId: segment }),
  ],
  preview_campaign: [
    ({ draft }: Ids) => callTool('preview_campaign', { campaignId: draft }),
    ({ contact }: Ids, own: Ids) => callTool('preview_campaign', { campaignId: own.draft, contactId: contact }),
  ],
  campaign_report: [({ campaign }: Ids) => callTool('campaign_report', { campaignId: campaign })],
  pause_campaign: [({ campaign }: Ids) => callTool('pause_campaign', { campaignId: campaign })],
  cancel_campaign: [({ campaign }: Ids) => callTool('cancel_campaign', { campaignId: campaign })],
  list_domains: [],
  verify_domain: [({ domain }: Ids) => callTool('verify_domain', { domainId: domain })],
  send_test: [
    ({ draft }: Ids) => callTool('send_test', { campaignId: draft, email: eveEmail }),
    ({ contact }: Ids, own: Ids) =>
      callTool('send_test', { campaignId: own.draft, email: eveEmail, contactId: contact }),
  ],
  list_pipelines: [],
  list_deals: [
    ({ pipeline }: Ids) => callTool('list_deals', { pipelineId: pipeline }),
    ({ stage }: Ids) => callTool('list_deals', { stageId: stage }),
    ({ contact }: Ids) => callTool('list_deals', { contactId: contact }),
    ({ user }: Ids) => callTool('list_deals', { ownerId: user }),
    ({ company }: Ids) => callTool('list_deals', { companyId: company }),
  ],
  move_deal: [
    ({ deal }: Ids) => callTool('move_deal', { dealId: deal, status: 'WON' }),
    ({ pipeline }: Ids, own: Ids) => callTool('move_deal', { dealId: own.deal, pipelineId: pipeline }),
    ({ stage }: Ids, own: Ids) => callTool('move_deal', { dealId: own.deal, stageId: stage }),
  ],
  send_campaign: [
    ({ draft }: Ids) => callTool('send_campaign', { campaignId: draft }),
    ({ draft }: Ids) => callTool('send_campaign', { campaignId: draft, confirmationToken: 'a.b' }),
  ],
}

export const mcpCases = { 'POST /mcp': Object.values(mcpToolCases).flat() }
