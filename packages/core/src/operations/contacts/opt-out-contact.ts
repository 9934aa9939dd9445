/** What a person said to the operator, by telephone or letter: as good as their own word, so that only they revert it. */
import { audit } from '../../audit/audit.ts'
import { addSuppression, listRows, lockConsent, removeSuppressions, toKey } from '../../consent/consent-records.ts'
import { hasLeft, isDatedBy } from '../../consent/derive-status.ts'
import { deriveStatuses } from '../../consent/derive-statuses.ts'
import { undoLifetimeMs } from '../../consent/link-rules.ts'
import { restoreLostRows } from '../../consent/lost-rows.ts'
import { addOptOutProof, removeProofs } from '../../consent/operator-proofs.ts'
import type { OptOutInput, OptOutQuery } from '../../consent/subscriptions.schema.ts'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { lockContact } from '../../contacts/lock-contact.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { conflict, invalidField, notFound } from '../../kernel/errors.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { lockList } from '../../lists/lists.ts'
import { type Ctx, getActorId, inTransaction } from '../../request/context.ts'

/**
 * Records that a contact wants no email from a list, or from any list, also those to come. Emits
 * `subscription.unsubscribed` for each list that it leaves. Once more is no error. Throws `not_found`.
 */
export function optOutContact(ctx: Ctx, id: ContactId, { listId, note }: OptOutInput): Promise<Contact> {
  return inTransaction(ctx, async (ctx) => {
    const contact = await lockContact(ctx, id)
    if (!contact) throw notFound('Contact')
    if (listId && !(await lockList(ctx, listId))) throw invalidField('listId', 'List not found')
    const records = await lockConsent(ctx, { contacts: [contact], mode: 'exclusive' })
    restoreLostRows(ctx, records)
    const { row } = addSuppression(ctx, records, {
      email: contact.email,
      listId: listId ?? null,
      reason: 'OPTED_OUT',
      source: 'API',
      note,
      actorId: getActorId(ctx.actor),
      undoableForMs: undoLifetimeMs,
    })
    addOptOutProof(ctx, records, { contact, row, note: note ?? null })
    await deriveStatuses(ctx, records)
    await audit(ctx, 'contact.opted_out', { subjectId: id, listId })
    return readContact(ctx, id)
  })
}

/**
 * Undoes an opt-out that an operator recorded by mistake, within ten minutes: the subscriptions that it ended open again.
 * Throws `opted_out` if it is older, holds for two addresses, or the person has said the same, and `wrong_state` without
 * an opt-out.
 */
export function undoOptOut(ctx: Ctx, id: ContactId, { listId }: OptOutQuery): Promise<Contact> {
  return inTransaction(ctx, async (ctx) => {
    const contact = await lockContact(ctx, id)
    if (!contact) throw notFound('Contact')
    const records = await lockConsent(ctx, { contacts: [contact], mode: 'exclusive' })
    const optOuts = listRows(records, contact.email, listId).filter(
      (row) => row.reason === 'OPTED_OUT' && row.listId === (listId ?? null),
    )
    const [row, ...others] = optOuts
    if (!row) {
      const state = listId && records.subscriptions.get(toKey({ listId, contactId: id }))
      if (hasLeft(state, listRows(records, contact.email, listId))) throw onlyThePerson()
      throw conflict('wrong_state', `The contact has not opted out of ${listId ? 'this list' : 'all lists'}`)
    }
    const isUndoable = row.undoableUntil !== null && row.undoableUntil > records.now
    if (others.length > 0 || row.source !== 'API' || !isUndoable) throw onlyThePerson()
    removeSuppressions(records, [row])
    removeProofs(records, id, row)
    await deriveStatuses(ctx, records, { widens: (state) => isDatedBy(state, row) })
    await audit(ctx, 'contact.opt_out_undone', { subjectId: id, listId })
    return readContact(ctx, id)
  })
}

const onlyThePerson = () =>
  conflict(
    'opted_out',
    'Only the person can revert this opt-out: it is theirs, older than ten minutes, or holds for two addresses',
  )
