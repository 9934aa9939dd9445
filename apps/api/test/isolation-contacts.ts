/** The isolation cases of contacts. */
import { freshEmail } from './testing.ts'

interface Ids {
  contact: string
  erasedContact: string
  externalId: string
  list: string
  company: string
  user: string
  duplicates: [string, string, string]
}

const ofCompany = (conditions: object) => encodeURIComponent(JSON.stringify({ company: conditions }))

/** Ordered so that each request succeeds for the owner: the deletion comes last. */
export const contactCases = {
  'GET /contacts': [
    ({ list }: Ids) => ({ path: `/contacts?listId=${list}` }),
    ({ externalId }: Ids) => ({ path: `/contacts?externalId=${externalId}` }),
    ({ company }: Ids) => ({ path: `/contacts?companyId=${company}` }),
    ({ company }: Ids) => ({ path: `/contacts?filter=${ofCompany({ id: company })}` }),
    ({ user }: Ids) => ({ path: `/contacts?filter=${ofCompany({ ownerId: user })}` }),
  ],
  'POST /contacts': [({ company }: Ids) => ({ path: '/contacts', body: { email: freshEmail(), companyId: company } })],
  // Without an address, a contact is updated but not created.
  'PUT /contacts': [
    ({ externalId }: Ids) => ({ path: '/contacts', body: { externalId, firstName: 'taken over' } }),
    ({ company }: Ids) => ({ path: '/contacts', body: { email: freshEmail(), companyId: company } }),
  ],
  'POST /contacts/batch': [
    ({ company }: Ids) => ({
      path: '/contacts/batch',
      body: { contacts: [{ email: freshEmail(), companyId: company }] },
    }),
  ],
  'GET /contacts/{id}': [({ contact }: Ids) => ({ path: `/contacts/${contact}` })],
  'PATCH /contacts/{id}': [
    ({ contact }: Ids) => ({ path: `/contacts/${contact}`, body: { firstName: 'taken over' } }),
    ({ company }: Ids, own: Ids) => ({ path: `/contacts/${own.contact}`, body: { companyId: company } }),
  ],
  'GET /contacts/{id}/activity': [({ contact }: Ids) => ({ path: `/contacts/${contact}/activity` })],
  'GET /contacts/{id}/export': [({ contact }: Ids) => ({ path: `/contacts/${contact}/export` })],
  'POST /contacts/{id}/erasure-receipt': [
    ({ erasedContact }: Ids) => ({ path: `/contacts/${erasedContact}/erasure-receipt`, body: {} }),
  ],
  'POST /contacts/{id}/tags': [({ contact }: Ids) => ({ path: `/contacts/${contact}/tags`, body: { tags: ['a'] } })],
  'DELETE /contacts/{id}/tags/{tag}': [({ contact }: Ids) => ({ path: `/contacts/${contact}/tags/secret` })],
  'POST /contacts/{id}/merge': [
    ({ duplicates: [one] }: Ids, own: Ids) => ({
      path: `/contacts/${one}/merge`,
      body: { contactId: own.duplicates[1] },
    }),
    ({ duplicates: [, , three] }: Ids, own: Ids) => ({
      path: `/contacts/${own.duplicates[0]}/merge`,
      body: { contactId: three },
    }),
  ],
  'DELETE /contacts/{id}': [({ duplicates: [one] }: Ids) => ({ path: `/contacts/${one}` })],
  'GET /contacts/export': [
    ({ list }: Ids) => ({ path: `/contacts/export?listId=${list}` }),
    ({ company }: Ids) => ({ path: `/contacts/export?companyId=${company}` }),
    ({ company }: Ids) => ({ path: `/contacts/export?filter=${ofCompany({ id: company })}` }),
  ],
}
