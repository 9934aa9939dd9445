import { audit } from '../audit/audit.ts'
import { deleteAliasesOfContact } from '../contacts/contact-aliases.ts'
import { toContact } from '../contacts/contact-record.ts'
import { deleteContactRow } from '../contacts/delete-contact-row.ts'
import { lockContact } from '../contacts/lock-contact.ts'
import { deleteDealsOfContact } from '../deals/update-deal.ts'
import { emit } from '../events/emit.ts'
import { deleteSubmissionsOfContact } from '../forms/submissions.ts'
import { notFound } from '../kernel/errors.ts'
import type { ContactId } from '../kernel/ids.ts'
import { deleteSubscriptionsOfContact } from '../lists/move-subscriptions.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { keepOptOuts } from '../subscriptions/opt-outs.ts'
import { deleteTasksOfContact } from '../tasks/tasks.ts'
import { contactDeleted } from '../contacts/contact-events.ts'

/**
 * Deletes a contact with its deals, tasks, submissions and subscriptions. Of its opt-outs a salted hash of the address
 * remains, so that an import cannot subscribe it again. Throws `not_found`.
 */
export function deleteContact(ctx: Ctx, id: ContactId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const contact = await lockContact(ctx, id)
    if (!contact) throw notFound('Contact')
    await keepOptOuts(ctx, contact)
    await deleteSubmissionsOfContact(ctx, id)
    await deleteSubscriptionsOfContact(ctx, id)
    await deleteDealsOfContact(ctx, id)
    await deleteTasksOfContact(ctx, id)
    await deleteAliasesOfContact(ctx, id)
    await deleteContactRow(ctx, id)
    await emit(ctx, contactDeleted, toContact(contact))
    await audit(ctx, 'contact.deleted', { subjectId: id })
  })
}
