/** Moves, deletes or exports the records of a contact that is merged, deleted or exported. */
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { deleteAliasesOfContact, listFormerIds, redirectAliases } from '../../contacts/contact-aliases.ts'
import {
  deleteExternalIdsOfContact,
  FormerExternalId,
  listFormerExternalIds,
  redirectExternalIds,
} from '../../contacts/identity/external-id-aliases.ts'
import type * as schema from '../../db/schema/index.ts'
import { Deal } from '../../deals/deals.schema.ts'
import { listDealsOfContact } from '../../deals/list-deals.ts'
import { listEmailsOfContact } from '../../emails/emails.ts'
import { forgetEmailsOfContact, moveEmails } from '../../emails/emails-of-contact.ts'
import { EmailRecord } from '../../emails/emails.schema.ts'
import { eraseDealsOfContact } from '../../deals/erase-deals.ts'
import { moveDeals } from '../../deals/update-deal.ts'
import { Submission } from '../../forms/submissions.schema.ts'
import { listSubmissionsOfContact } from '../../forms/list-submissions-of-contact.ts'
import { deleteSubmissionsOfContact, moveSubmissions } from '../../forms/submissions.ts'
import { type ContactId, RecordId } from '../../kernel/ids.ts'
import { deleteSubscriptionsOfContact } from '../../lists/delete-subscriptions.ts'
import { listNotesOfContact } from '../../notes/list-notes.ts'
import { Note } from '../../notes/notes.schema.ts'
import { deleteNotesOfContact, moveNotes } from '../../notes/release-notes.ts'
import type { Ctx } from '../../request/context.ts'
import { listSubscriptionsOfContact } from '../../consent/list-subscriptions-of-contact.ts'
import { SubscriptionWithConsents } from '../../consent/subscriptions.schema.ts'
import { listTrackingConsentOfContact } from '../../consent/tracking/list-tracking-consent.ts'
import { TrackingConsentWithProofs } from '../../consent/tracking/tracking-consent.schema.ts'
import { deleteTrackingConsent, moveTrackingConsent } from '../../consent/tracking/tracking-consents.ts'
import { listTasksOfContact } from '../../tasks/list-tasks.ts'
import { Task } from '../../tasks/tasks.schema.ts'
import { deleteTasksOfContact, moveTasks } from '../../tasks/tasks.ts'
import { type ExportSection, section } from './export-section.ts'

type Schema = typeof schema
type TableOfContacts = {
  [Name in keyof Schema]: Schema[Name] extends { contactId: AnyPgColumn } ? Name : never
}[keyof Schema]
/**
 * Rows that remain after the deletion of their contact: history, campaign statistics, suppressions of its address, the
 * erasure itself, and what the budget for mails has counted, without the contact.
 */
export type OutlivingTable = 'campaignRecipients' | 'events' | 'suppressions' | 'erasures' | 'visitorMails'

interface ContactRecords {
  move: (ctx: Ctx, contacts: { from: ContactId; to: ContactId }) => Promise<unknown>
  deleteAll: (ctx: Ctx, contactId: ContactId) => Promise<void>
  exported: ExportSection
}

/** One line per table. A missing table with a contact id does not compile. */
export const contactRecords = {
  formSubmissions: {
    move: moveSubmissions,
    deleteAll: deleteSubmissionsOfContact,
    exported: section('submissions', Submission, listSubmissionsOfContact),
  },
  subscriptions: {
    // The others are saved before: see `mergeSubscriptions`.
    move: (ctx, { from }) => deleteSubscriptionsOfContact(ctx, from),
    deleteAll: deleteSubscriptionsOfContact,
    exported: section('subscriptions', SubscriptionWithConsents, listSubscriptionsOfContact),
  },
  trackingConsents: {
    move: moveTrackingConsent,
    deleteAll: deleteTrackingConsent,
    exported: section('trackingConsents', TrackingConsentWithProofs, listTrackingConsentOfContact),
  },
  notes: { move: moveNotes, deleteAll: deleteNotesOfContact, exported: section('notes', Note, listNotesOfContact) },
  deals: { move: moveDeals, deleteAll: eraseDealsOfContact, exported: section('deals', Deal, listDealsOfContact) },
  tasks: { move: moveTasks, deleteAll: deleteTasksOfContact, exported: section('tasks', Task, listTasksOfContact) },
  emails: {
    move: moveEmails,
    deleteAll: forgetEmailsOfContact,
    exported: section('templateEmails', EmailRecord, listEmailsOfContact),
  },
  contactAliases: {
    move: redirectAliases,
    deleteAll: deleteAliasesOfContact,
    exported: section('formerIds', RecordId('con'), listFormerIds),
  },
  externalIdAliases: {
    move: redirectExternalIds,
    deleteAll: deleteExternalIdsOfContact,
    exported: section('formerExternalIds', FormerExternalId, listFormerExternalIds),
  },
} satisfies Record<Exclude<TableOfContacts, OutlivingTable>, ContactRecords>

/** Moves the records of a locked contact to another locked contact. Emits an event for each deal, note and task. */
export async function moveContactRecords(ctx: Ctx, contacts: { from: ContactId; to: ContactId }): Promise<void> {
  for (const { move } of Object.values<ContactRecords>(contactRecords)) await move(ctx, contacts)
}

/** Deletes the records of a locked contact, except closed deals and those of a company. Emits an event for each deal, note and task. */
export async function deleteContactRecords(ctx: Ctx, contactId: ContactId): Promise<void> {
  for (const { deleteAll } of Object.values<ContactRecords>(contactRecords)) await deleteAll(ctx, contactId)
}
