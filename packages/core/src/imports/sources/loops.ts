import type { ExportSource } from './export-source.ts'

/**
 * The file of "Export" on the page Audience: commas, UTF-8, the names of the properties or their labels. `subscribed`
 * concerns all marketing emails. A column for each mailing list says true or false: map the one of the list to `status`.
 */
export const loops: ExportSource = {
  columns: {
    id: null,
    email: 'email',
    firstName: 'firstName',
    lastName: 'lastName',
    notes: null,
    source: 'source',
    subscribed: 'status.subscribed',
    optInStatus: 'source.optedIn',
    'Double opt-in': 'source.optedIn',
    userGroup: null,
    userId: 'externalId',
    createdAt: null,
    updatedAt: null,
  },
}
