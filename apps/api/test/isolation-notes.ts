/** The isolation cases of notes. */
interface Ids {
  contact: string
  company: string
  deal: string
  user: string
  note: string
}

const create = (records: object) => ({ path: '/notes', body: { body: 'spy', ...records } })

/** Ordered so that each request succeeds for the owner: the deletion comes last. */
export const noteCases = {
  'POST /notes': [
    ({ contact }: Ids) => create({ contactId: contact }),
    ({ company }: Ids) => create({ companyId: company }),
    ({ deal }: Ids) => create({ dealId: deal }),
    ({ contact }: Ids, own: Ids) => create({ contactId: contact, companyId: own.company, dealId: own.deal }),
    ({ company }: Ids, own: Ids) => create({ contactId: own.contact, companyId: company, dealId: own.deal }),
    ({ deal }: Ids, own: Ids) => create({ contactId: own.contact, companyId: own.company, dealId: deal }),
  ],
  'GET /notes': [
    ({ contact }: Ids) => ({ path: `/notes?contactId=${contact}` }),
    ({ company }: Ids) => ({ path: `/notes?companyId=${company}` }),
    ({ deal }: Ids) => ({ path: `/notes?dealId=${deal}` }),
    ({ user }: Ids) => ({ path: `/notes?authorId=${user}` }),
  ],
  'GET /notes/{id}': [({ note }: Ids) => ({ path: `/notes/${note}` })],
  'PATCH /notes/{id}': [({ note }: Ids) => ({ path: `/notes/${note}`, body: { body: 'taken over' } })],
  'DELETE /notes/{id}': [({ note }: Ids) => ({ path: `/notes/${note}` })],
}
