/** The isolation cases of subscribers, opt-outs and suppressions. */
interface Ids {
  contact: string
  list: string
  suppression: string
  spareSuppression: string
}

/** Ordered so that each request succeeds for the owner: irreversible ones come last. */
export const consentCases = {
  'POST /contacts/{id}/opt-out': [
    ({ contact }: Ids) => ({ path: `/contacts/${contact}/opt-out` }),
    ({ contact }: Ids, own: Ids) => ({ path: `/contacts/${contact}/opt-out`, body: { listId: own.list } }),
    ({ list }: Ids, own: Ids) => ({ path: `/contacts/${own.contact}/opt-out`, body: { listId: list } }),
  ],
  'GET /contacts/{id}/tracking-consent': [({ contact }: Ids) => ({ path: `/contacts/${contact}/tracking-consent` })],
  'PUT /contacts/{id}/tracking-consent': [
    ({ contact }: Ids) => ({ path: `/contacts/${contact}/tracking-consent`, body: { opens: 'DENIED' } }),
  ],
  'DELETE /contacts/{id}/opt-out': [
    ({ contact }: Ids) => ({ path: `/contacts/${contact}/opt-out` }),
    ({ contact }: Ids, own: Ids) => ({ path: `/contacts/${contact}/opt-out?listId=${own.list}` }),
  ],
  'GET /suppressions': [({ list }: Ids) => ({ path: `/suppressions?listId=${list}` })],
  'POST /suppressions': [
    ({ list }: Ids) => ({
      path: '/suppressions',
      body: { email: 'ada@example.com', reason: 'OPTED_OUT', listId: list },
    }),
  ],
  'GET /suppressions/{id}': [({ suppression }: Ids) => ({ path: `/suppressions/${suppression}` })],
  'DELETE /suppressions/{id}': [
    ({ spareSuppression }: Ids) => ({ path: `/suppressions/${spareSuppression}`, body: { note: 'spy' } }),
  ],
}

export const subscriberCases = {
  'GET /lists/{id}/subscribers': [({ list }: Ids) => ({ path: `/lists/${list}/subscribers` })],
  'GET /lists/{id}/subscribers/{contactId}': [
    ({ list }: Ids, own: Ids) => ({ path: `/lists/${list}/subscribers/${own.contact}` }),
    ({ contact }: Ids, own: Ids) => ({ path: `/lists/${own.list}/subscribers/${contact}` }),
  ],
  'DELETE /lists/{id}/subscribers/{contactId}': [
    ({ list }: Ids, own: Ids) => ({ path: `/lists/${list}/subscribers/${own.contact}` }),
    ({ contact }: Ids, own: Ids) => ({ path: `/lists/${own.list}/subscribers/${contact}` }),
  ],
}
