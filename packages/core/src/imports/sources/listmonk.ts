import type { ExportSource } from './export-source.ts'

/**
 * `subscribers.csv` of "Export" or of `GET /api/subscribers/export`: commas, UTF-8, LF, moments as Go prints them. `status`
 * is that of the person: `enabled`, `disabled` or `blocklisted`. It does not say from which lists the person has
 * unsubscribed: a file with the filter "subscription status" does. A copy of the table `subscribers` has `attribs`.
 */
export const listmonk: ExportSource = {
  columns: {
    uuid: null,
    email: 'email',
    name: 'name',
    attributes: 'listmonk.attributes',
    attribs: 'listmonk.attributes',
    status: 'status',
    created_at: null,
    updated_at: null,
  },
}
