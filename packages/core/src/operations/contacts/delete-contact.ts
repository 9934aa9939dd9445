import { audit } from '../../audit/audit.ts'
import { forgetLiftNotes } from '../../audit/forget-lift-notes.ts'
import { listFormerIds } from '../../contacts/contact-aliases.ts'
import { deleteContactRow } from '../../contacts/update-contact.ts'
import { startErasure } from '../../contacts/erasures.ts'
import { lockContact } from '../../contacts/lock-contact.ts'
import { emit } from '../../events/emit.ts'
import { notFound } from '../../kernel/errors.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { hashEmailWithAllKeys } from '../../consent/hash-email.ts'
import { lockConsent } from '../../consent/consent-records.ts'
import { restoreLostRows } from '../../consent/lost-rows.ts'
import { deriveStatuses, forgetPerson } from '../../consent/derive-statuses.ts'
import { storeTrackingDenials } from '../../consent/tracking/tracking-denials.ts'
import { deleteSoftBounces } from '../../suppressions/soft-bounces.ts'
import { contactDeleted } from '../../contacts/contact-events.ts'
import { findConsentEmails } from './consent-emails.ts'
import { deleteContactRecords } from './contact-records.ts'
import { deleteMailsOfContact } from './mails-of-contact.ts'

/**
 * Deletes a contact with its records (OPEN deals without a company, tasks, submissions, subscriptions) and single mails, and emits
 * `contact.deleted` after the events of its deals and tasks. The worker redacts its events in the background: see
 * `erase-contact.ts`. Its other deals remain without the person. Its opt-outs and the suppression of its address remain as keyed hashes, so that an import cannot
 * subscribe it again.
 * Throws `not_found`. May deadlock, and begins again then: it locks the notes of the contact before those of its deals.
 */
export function deleteContact(ctx: Ctx, id: ContactId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const contact = await lockContact(ctx, id)
    if (!contact) throw notFound('Contact')
    const records = await lockConsent(ctx, { contacts: [contact], mode: 'exclusive' })
    restoreLostRows(ctx, records)
    await deriveStatuses(ctx, { ...records, contacts: [] }, { emitsEvents: false })
    const { data: formerIds } = await listFormerIds(ctx, id)
    const contactIds = [id, ...formerIds]
    const emailHashes = hashEmailWithAllKeys(ctx, contact.email)
    await forgetPerson(ctx, { contactIds, emailHashes })
    await storeTrackingDenials(ctx, contact)
    await deleteSoftBounces(ctx, emailHashes)
    const mailed = await deleteMailsOfContact(ctx, contact)
    const emails = [...new Set([contact.email, ...(await findConsentEmails(ctx, id)), ...mailed])]
    await forgetLiftNotes(ctx, { contactIds, emails })
    await startErasure(ctx, id, formerIds)
    await deleteContactRecords(ctx, id)
    await deleteContactRow(ctx, id)
    await emit(ctx, contactDeleted, { id })
    await audit(ctx, 'contact.deleted', { subjectId: id })
  })
}
