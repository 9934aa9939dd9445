/** The isolation cases of companies. */
interface Ids {
  company: string
  spareCompany: string
  user: string
}

/** Ordered so that each request succeeds for the owner: the deletion comes last. */
export const companyCases = {
  'GET /companies': [({ user }: Ids) => ({ path: `/companies?ownerId=${user}` })],
  'POST /companies': [({ user }: Ids) => ({ path: '/companies', body: { name: 'Acme', ownerId: user } })],
  'PUT /companies': [
    ({ user }: Ids) => ({ path: '/companies', body: { name: 'Acme', domain: 'put.example', ownerId: user } }),
  ],
  'POST /companies/batch': [
    ({ user }: Ids) => ({ path: '/companies/batch', body: { companies: [{ name: 'Acme', ownerId: user }] } }),
  ],
  'GET /companies/{id}': [({ company }: Ids) => ({ path: `/companies/${company}` })],
  'PATCH /companies/{id}': [
    ({ company }: Ids) => ({ path: `/companies/${company}`, body: { name: 'taken over' } }),
    ({ user }: Ids, own: Ids) => ({ path: `/companies/${own.company}`, body: { ownerId: user } }),
  ],
  'GET /companies/{id}/contacts': [({ company }: Ids) => ({ path: `/companies/${company}/contacts` })],
  'GET /companies/{id}/activity': [({ company }: Ids) => ({ path: `/companies/${company}/activity` })],
  'DELETE /companies/{id}': [({ spareCompany }: Ids) => ({ path: `/companies/${spareCompany}` })],
}
