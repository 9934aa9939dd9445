import type { ExportSource } from './export-source.ts'

/** The file of "Export" on the page Contacts: commas, UTF-8. `unsubscribed` concerns all broadcasts. */
export const resend: ExportSource = {
  columns: {
    id: null,
    email: 'email',
    first_name: 'firstName',
    last_name: 'lastName',
    unsubscribed: 'resend.unsubscribed',
    segments: null,
    topics: null,
    created_at: null,
  },
}
