import { z } from 'zod'
import { ReceivedCampaign } from '../../campaigns/campaigns.schema.ts'
import { listCampaignsOfContact } from '../../campaigns/list-campaigns-of-contact.ts'
import { Contact } from '../../contacts/contacts.schema.ts'
import { Activity } from '../../events/activity.ts'
import { listActivity } from '../../contacts/list-activity.ts'
import { Timestamp } from '../../kernel/values/timestamps.ts'
import { ReceivedMail } from '../../mail/received-mails.ts'
import { listSuppressionsOfContact } from '../../suppressions/list-suppressions-of-contact.ts'
import { Suppression } from '../../suppressions/suppressions.schema.ts'
import { contactRecords, type OutlivingTable } from './contact-records.ts'
import { type ExportSection, section } from './export-section.ts'
import { listMailsOfContact } from './mails-of-contact.ts'

/** One line per table that the contact does not own. A missing table with a contact id does not compile. */
const otherSections = {
  campaignRecipients: section('campaigns', ReceivedCampaign, listCampaignsOfContact),
  suppressions: section('suppressions', Suppression, listSuppressionsOfContact),
  mails: section('emails', ReceivedMail, listMailsOfContact),
  events: section('activity', Activity, listActivity),
} satisfies Record<Exclude<OutlivingTable, 'erasures' | 'visitorMails'> | 'mails', ExportSection>

/** The lists of an export, in their order. */
export const exportSections: readonly ExportSection[] = [
  ...Object.values(contactRecords).map(({ exported }) => exported),
  ...Object.values(otherSections),
]

const descriptions: Record<string, string> = {
  submissions: 'What the contact submitted to forms.',
  subscriptions: 'The subscriptions with their proofs of consent.',
  suppressions: 'The suppressions of the address of the contact.',
  formerIds: 'The ids of contacts that were merged into this contact.',
  formerExternalIds: 'The external ids of contacts that were merged into this contact, and that still find it.',
  templateEmails:
    'The emails from templates that were sent to the contact, with the ground of each and the version of its template.',
  campaigns: 'The campaigns that were sent to the contact.',
  emails: 'Confirmation and test emails to the contact. They are kept for 30 days.',
  activity: 'The events of the contact that are still kept.',
}

export const PersonExport = z
  .object({
    exportedAt: Timestamp.describe('When the export began.'),
    contact: Contact,
    ...Object.fromEntries(
      exportSections.map(({ name, item }) => [
        name,
        z.array(item).describe(descriptions[name] ?? `The ${name} of the contact.`),
      ]),
    ),
  })
  .meta({
    id: 'PersonExport',
    description: 'Everything that the workspace keeps about a person. The lists are complete, and oldest first.',
  })
