/** The isolation cases of deals. */
interface Ids {
  pipeline: string
  stage: string
  contact: string
  company: string
  deal: string
  user: string
}

/** Ordered so that each request succeeds for the owner: the deletion comes last. */
export const dealCases = {
  'GET /deals': [
    ({ pipeline }: Ids) => ({ path: `/deals?pipelineId=${pipeline}` }),
    ({ stage }: Ids) => ({ path: `/deals?stageId=${stage}` }),
    ({ contact }: Ids) => ({ path: `/deals?contactId=${contact}` }),
    ({ user }: Ids) => ({ path: `/deals?ownerId=${user}` }),
    ({ company }: Ids) => ({ path: `/deals?companyId=${company}` }),
  ],
  'POST /deals': [
    ({ pipeline }: Ids, own: Ids) => ({ path: '/deals', body: { pipelineId: pipeline, contactId: own.contact } }),
    ({ contact }: Ids, own: Ids) => ({ path: '/deals', body: { pipelineId: own.pipeline, contactId: contact } }),
    ({ user }: Ids, own: Ids) => ({
      path: '/deals',
      body: { pipelineId: own.pipeline, contactId: own.contact, ownerId: user },
    }),
    ({ company }: Ids, own: Ids) => ({
      path: '/deals',
      body: { pipelineId: own.pipeline, contactId: own.contact, companyId: company },
    }),
    ({ stage }: Ids, own: Ids) => ({
      path: '/deals',
      body: { pipelineId: own.pipeline, stageId: stage, contactId: own.contact },
    }),
  ],
  'GET /deals/{id}': [({ deal }: Ids) => ({ path: `/deals/${deal}` })],
  'PATCH /deals/{id}': [
    ({ deal }: Ids) => ({ path: `/deals/${deal}`, body: { name: 'taken over' } }),
    ({ pipeline }: Ids, own: Ids) => ({ path: `/deals/${own.deal}`, body: { pipelineId: pipeline } }),
    ({ stage }: Ids, own: Ids) => ({ path: `/deals/${own.deal}`, body: { stageId: stage } }),
    ({ contact }: Ids, own: Ids) => ({ path: `/deals/${own.deal}`, body: { contactId: contact } }),
    ({ user }: Ids, own: Ids) => ({ path: `/deals/${own.deal}`, body: { ownerId: user } }),
    ({ company }: Ids, own: Ids) => ({ path: `/deals/${own.deal}`, body: { companyId: company } }),
  ],
  'GET /deals/{id}/activity': [({ deal }: Ids) => ({ path: `/deals/${deal}/activity` })],
  'DELETE /deals/{id}': [({ deal }: Ids) => ({ path: `/deals/${deal}` })],
}
