/** Where an erasure leaves something on purpose, and until when. Everything else is a trace that should not be there. */

/** By table and column. */
export const keptTraces: Readonly<Record<string, string>> = {
  'audit_entries.subject_id': 'The audit log names the record that an action changed: until RETENTION_AUDIT_DAYS.',
  'audit_entries.details':
    'The audit log names the records of a merge, and the addresses of members and invites: until RETENTION_AUDIT_DAYS.',
  'campaign_batches.contact_ids': 'The audience of a campaign, by former ids: until the campaign is deleted.',
  'campaign_recipients.contact_id': 'The statistics of a campaign, by former ids: until the campaign is deleted.',
  'deals.contact_id':
    'A deal that was won or lost, or that is open with a company, with the former id: until the deal is deleted.',
  'deals.former_contact_ids':
    'A deal that was given to another contact, with the former id: until the deal is deleted.',
  'deals.lost_reason': 'The reason of a lost deal quotes it, which is kept for reports: change the reason.',
  'deliveries.response_body': 'A receiver of webhooks quoted it: until RETENTION_EVENTS_DAYS and up to 7 days more.',
  'erasures.contact_id': 'The erasure itself: until it is done, usually within a minute.',
  'erasures.merged_ids': 'The erasure itself: until it is done, usually within a minute.',
  'events.contact_id': 'The timeline, redacted: until RETENTION_EVENTS_DAYS and up to 7 days more.',
  'events.data':
    'The id of a redacted event, the former id in an event of a deal that remains, or a text that quotes the address: until RETENTION_EVENTS_DAYS and up to 7 days more.',
  'form_submissions.values': 'A submission that belongs to no contact: delete it, or set RETENTION_SUBMISSIONS_DAYS.',
  'users.email': 'The address has an account of its own: remove the member to delete it.',
  'invites.email': 'The address was invited to a workspace: delete the invite.',
}

/** What no search can read. */
export const unreadable = [
  'idempotency_records.body: responses, encrypted, for 24 hours',
  'suppressions, tracking_denials: keyed hashes of addresses, so that an import cannot undo what they said',
  'backups: restore one into another database, and run `rapport erasure verify` with its DATABASE_URL',
]
