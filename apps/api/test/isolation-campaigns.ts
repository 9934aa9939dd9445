/** The isolation cases of campaigns, custom fields and sending domains. */
interface Ids {
  campaign: string
  segment: string
  spareSegment: string
  pipeline: string
  company: string
  user: string
  draft: string
  contact: string
  list: string
  domain: string
  spareDomain: string
  customField: string
  mailHook: string
  lastMailHook: string
}

const aBounce = { type: 'BOUNCE', email: 'both@example.com', permanent: true }

/** Ordered so that each request succeeds for the owner: irreversible ones come last. */
export const aMailHook = { provider: 'mailgun', secret: 'key-0123456789abcdef' }

export const campaignCases = {
  'GET /segments': [],
  'POST /segments': [
    ({ list }: Ids) => ({ path: '/segments', body: { name: 'Spy', filter: { list } } }),
    ({ campaign }: Ids) => ({ path: '/segments', body: { name: 'Spy', filter: { campaign, did: 'open' } } }),
    ({ pipeline }: Ids) => ({ path: '/segments', body: { name: 'Spy', filter: { deal: { pipelineId: pipeline } } } }),
    ({ company }: Ids) => ({ path: '/segments', body: { name: 'Spy', filter: { company: { id: company } } } }),
    ({ user }: Ids) => ({ path: '/segments', body: { name: 'Spy', filter: { company: { ownerId: user } } } }),
  ],
  'POST /segments/preview': [
    ({ list }: Ids) => ({ path: '/segments/preview', body: { filter: { not: { list } } } }),
    ({ company }: Ids) => ({ path: '/segments/preview', body: { filter: { company: { id: company } } } }),
    ({ user }: Ids) => ({ path: '/segments/preview', body: { filter: { company: { ownerId: user } } } }),
  ],
  'GET /segments/{id}': [({ segment }: Ids) => ({ path: `/segments/${segment}` })],
  'PATCH /segments/{id}': [
    ({ segment }: Ids) => ({ path: `/segments/${segment}`, body: { name: 'taken over' } }),
    ({ company }: Ids, own: Ids) => ({
      path: `/segments/${own.segment}`,
      body: { filter: { company: { id: company } } },
    }),
    ({ user }: Ids, own: Ids) => ({
      path: `/segments/${own.segment}`,
      body: { filter: { company: { ownerId: user } } },
    }),
    ({ list }: Ids, own: Ids) => ({ path: `/segments/${own.segment}`, body: { filter: { list } } }),
  ],
  'DELETE /segments/{id}': [({ spareSegment }: Ids) => ({ path: `/segments/${spareSegment}` })],
  'GET /segments/{id}/contacts': [({ segment }: Ids) => ({ path: `/segments/${segment}/contacts` })],
  'GET /custom-fields': [],
  'POST /custom-fields': [],
  'GET /custom-fields/{id}': [({ customField }: Ids) => ({ path: `/custom-fields/${customField}` })],
  'PATCH /custom-fields/{id}': [
    ({ customField }: Ids) => ({ path: `/custom-fields/${customField}`, body: { label: 'a' } }),
  ],
  'DELETE /custom-fields/{id}': [({ customField }: Ids) => ({ path: `/custom-fields/${customField}` })],
  'GET /domains': [],
  'POST /domains': [],
  'GET /domains/{id}': [({ domain }: Ids) => ({ path: `/domains/${domain}` })],
  'PATCH /domains/{id}': [({ domain }: Ids) => ({ path: `/domains/${domain}`, body: { host: null } })],
  'POST /domains/{id}/verify': [({ domain }: Ids) => ({ path: `/domains/${domain}/verify` })],
  'POST /domains/{id}/rotate-key': [({ domain }: Ids) => ({ path: `/domains/${domain}/rotate-key` })],
  'DELETE /domains/{id}': [({ spareDomain }: Ids) => ({ path: `/domains/${spareDomain}` })],
  'GET /campaigns': [],
  'GET /template-variables': [],
  'POST /campaigns': [
    ({ list }: Ids) => ({ path: '/campaigns', body: { name: 'a', subject: 'b', listId: list } }),
    ({ segment }: Ids, own: Ids) => ({
      path: '/campaigns',
      body: { name: 'a', subject: 'b', listId: own.list, segmentId: segment },
    }),
  ],
  'GET /campaigns/{id}': [({ campaign }: Ids) => ({ path: `/campaigns/${campaign}` })],
  'PATCH /campaigns/{id}': [
    ({ campaign }: Ids) => ({ path: `/campaigns/${campaign}`, body: { name: 'taken over' } }),
    ({ campaign }: Ids, own: Ids) => ({ path: `/campaigns/${campaign}`, body: { listId: own.list } }),
    ({ list }: Ids, own: Ids) => ({ path: `/campaigns/${own.campaign}`, body: { listId: list } }),
    ({ segment }: Ids, own: Ids) => ({ path: `/campaigns/${own.campaign}`, body: { segmentId: segment } }),
  ],
  'POST /campaigns/{id}/send': [({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/send` })],
  'POST /campaigns/{id}/send-test': [
    ({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/send-test`, body: { email: 'eve@example.com' } }),
    ({ contact }: Ids, own: Ids) => ({
      path: `/campaigns/${own.campaign}/send-test`,
      body: { email: 'eve@example.com', contactId: contact },
    }),
  ],
  'DELETE /campaigns/{id}': [({ draft }: Ids) => ({ path: `/campaigns/${draft}` })],
  'GET /campaigns/{id}/audience': [({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/audience` })],
  'POST /campaigns/{id}/preview': [
    ({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/preview`, body: {} }),
    ({ contact }: Ids, own: Ids) => ({ path: `/campaigns/${own.campaign}/preview`, body: { contactId: contact } }),
  ],
  'POST /campaigns/{id}/retry': [({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/retry`, body: {} })],
  'POST /campaigns/{id}/pause': [({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/pause` })],
  'POST /campaigns/{id}/resume': [({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/resume` })],
  'POST /campaigns/{id}/cancel': [({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/cancel` })],
  'GET /campaigns/{id}/stats': [({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/stats` })],
  'GET /campaigns/{id}/recipients': [
    ({ campaign }: Ids) => ({ path: `/campaigns/${campaign}/recipients` }),
    ({ contact }: Ids, own: Ids) => ({ path: `/campaigns/${own.campaign}/recipients?contactId=${contact}` }),
  ],
  'GET /mail-hooks': [],
  'POST /mail-hooks': [],
  'GET /mail-hooks/{id}': [({ mailHook }: Ids) => ({ path: `/mail-hooks/${mailHook}` })],
  'DELETE /mail-hooks/{id}': [({ lastMailHook }: Ids) => ({ path: `/mail-hooks/${lastMailHook}` })],
  'POST /mail-events': [
    ({ campaign, contact }: Ids) => ({
      path: '/mail-events',
      body: { ...aBounce, messageId: `<${campaign}.${contact}@crm.example.com>` },
    }),
  ],
}

interface EmailIds {
  template: string
  spareTemplate: string
  email: string
  contact: string
  externalId: string
}

const emailTo = (templateId: string, to: Record<string, string>) => ({ templateId, to })

export const aTemplate = { name: 'Welcome', subject: 'Welcome', text: 'Hello', ground: 'REQUEST' }
export const anEmail = (templateId: string, contactId: string) => ({ templateId, to: { contactId } })

/** The isolation cases of templates and emails. */
export const emailCases = {
  'GET /templates': [],
  'POST /templates': [],
  'GET /templates/{id}': [({ template }: EmailIds) => ({ path: `/templates/${template}` })],
  'PATCH /templates/{id}': [
    ({ template }: EmailIds) => ({ path: `/templates/${template}`, body: { name: 'taken over' } }),
  ],
  'POST /templates/{id}/preview': [
    ({ template }: EmailIds) => ({ path: `/templates/${template}/preview` }),
    ({ contact }: EmailIds, own: EmailIds) => ({
      path: `/templates/${own.template}/preview`,
      body: { contactId: contact },
    }),
  ],
  'DELETE /templates/{id}': [({ spareTemplate }: EmailIds) => ({ path: `/templates/${spareTemplate}` })],
  'GET /emails': [
    ({ contact }: EmailIds) => ({ path: `/emails?contactId=${contact}` }),
    ({ externalId }: EmailIds) => ({ path: `/emails?externalId=${externalId}` }),
    ({ template }: EmailIds) => ({ path: `/emails?templateId=${template}` }),
  ],
  'POST /emails': [
    ({ template }: EmailIds) => ({ path: '/emails', body: emailTo(template, { email: 'eve@example.com' }) }),
    ({ contact }: EmailIds, own: EmailIds) => ({
      path: '/emails',
      body: emailTo(own.template, { contactId: contact }),
    }),
    ({ externalId }: EmailIds, own: EmailIds) => ({ path: '/emails', body: emailTo(own.template, { externalId }) }),
  ],
  'POST /emails/batch': [],
  'GET /emails/{id}': [({ email }: EmailIds) => ({ path: `/emails/${email}` })],
}
