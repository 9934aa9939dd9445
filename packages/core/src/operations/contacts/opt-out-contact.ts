/** What a person said to the operator, by telephone or letter: as good as their own word, so that only they revert it. */
import { audit } from '../../audit/audit.ts'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { lockContact } from '../../contacts/lock-contact.ts'
import { readContact } from '../../contacts/read-contact.ts'
import type { OptOutInput, OptOutQuery } from '../../subscriptions/subscriptions.schema.ts'
import { conflict, invalidField, notFound } from '../../kernel/errors.ts'
import type { ContactId, ListId } from '../../kernel/ids.ts'
import { lockList } from '../../lists/lists.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { applyRemaining } from '../../subscriptions/apply-suppressions.ts'
import { readSuppressions } from '../../subscriptions/find-suppressions.ts'
import {
  hasOptedOut,
  type OptOut,
  optOutOfList,
  proveOptOut,
  readSubscriptions,
  undoOptOuts,
} from '../../lists/operator-opt-outs.ts'
import { undoLifetimeMs } from '../../lists/subscription-links.ts'
import { removeReasons } from '../../subscriptions/store-suppressions.ts'
import { isByPerson } from '../../subscriptions/suppression-reasons.ts'
import { suppress } from '../../suppressions/suppress.ts'

/**
 * Records that a contact wants no email from a list, or from any list, also those to come. Emits
 * `subscription.unsubscribed` for each list that it leaves. Once more is no error. Throws `not_found`.
 */
export function optOutContact(ctx: Ctx, id: ContactId, { listId, note }: OptOutInput): Promise<Contact> {
  return inTransaction(ctx, async (ctx) => {
    const contact = await lockContact(ctx, id)
    if (!contact) throw notFound('Contact')
    const optOut = { contact, note: note ?? null, at: new Date() }
    if (listId && !(await lockList(ctx, listId))) throw invalidField('listId', 'List not found')
    const isNew = listId ? await optOutOfList(ctx, listId, optOut) : await optOutOfAll(ctx, optOut)
    if (isNew) await audit(ctx, 'contact.opted_out', { subjectId: id, listId })
    return readContact(ctx, id)
  })
}

async function optOutOfAll(ctx: Ctx, optOut: OptOut): Promise<boolean> {
  const { contact, note, at } = optOut
  const before = await readSubscriptions(ctx, contact.id)
  const added = { email: contact.email, reason: 'OPTED_OUT', source: 'API', note } as const
  const [stored] = await suppress(ctx, [added], { emitsEvents: true, now: at })
  await proveOptOut(ctx, before, optOut)
  return stored?.change !== 'UNCHANGED'
}

/**
 * Undoes an opt-out that an operator recorded by mistake, within ten minutes: the subscriptions return as they were.
 * Those that a change of address or a merge made final remain ended. Throws `opted_out` if it is older, the person has
 * opted out themselves, or it is final for the list, and `wrong_state` without an opt-out.
 */
export function undoOptOut(ctx: Ctx, id: ContactId, { listId }: OptOutQuery): Promise<Contact> {
  return inTransaction(ctx, async (ctx) => {
    const contact = await lockContact(ctx, id)
    if (!contact) throw notFound('Contact')
    const since = new Date(Date.now() - undoLifetimeMs)
    if (listId) await undoOptOutOfList(ctx, contact, { listId, since })
    else await undoOptOutOfAll(ctx, contact, since)
    await applyRemaining(ctx, contact, await readSuppressions(ctx, { email: contact.email }))
    await audit(ctx, 'contact.opt_out_undone', { subjectId: id, listId })
    return readContact(ctx, id)
  })
}

interface LockedContact {
  id: ContactId
  email: string
}

async function undoOptOutOfAll(ctx: Ctx, contact: LockedContact, since: Date): Promise<void> {
  const { email } = contact
  const reasons = await readSuppressions(ctx, { email })
  const optOut = reasons.find(({ reason }) => reason === 'OPTED_OUT')
  if (!optOut) throw conflict('wrong_state', 'The contact has not opted out of all lists')
  if (optOut.source !== 'API' || new Date(optOut.createdAt) <= since) throw onlyThePerson()
  await removeReasons(ctx, email, ({ reason }) => reason === 'OPTED_OUT')
  await undoOptOuts(ctx, contact, { since, at: optOut.createdAt })
}

async function undoOptOutOfList(
  ctx: Ctx,
  contact: LockedContact,
  { listId, since }: { listId: ListId; since: Date },
): Promise<void> {
  const reasons = await readSuppressions(ctx, { email: contact.email })
  if (reasons.some(isByPerson)) throw conflict('opted_out', 'The contact has opted out of all lists')
  if ((await undoOptOuts(ctx, contact, { listId, since })) > 0) return
  const [current] = await readSubscriptions(ctx, contact.id, listId)
  if (current && hasOptedOut(current)) throw onlyThePerson()
  throw conflict('wrong_state', 'The contact has not opted out of this list')
}

const onlyThePerson = () =>
  conflict(
    'opted_out',
    'Only the person can revert this opt-out: it is theirs, older than ten minutes, or holds for two addresses',
  )
