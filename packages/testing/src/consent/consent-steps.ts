/** Everything that subscribes, unsubscribes, suppresses or moves an address. Each step returns what it means for the model. */
import { findContactByEmail } from '@rapport/core/contacts/find-contact.ts'
import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import { upsertContact } from '@rapport/core/contacts/upsert-contact.ts'
import { type ContactId, idOf, type ListId, newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { subscribe } from '@rapport/core/lists/subscribe.ts'
import { unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import { addSubscriber, removeSubscriber } from '@rapport/core/lists/subscribers.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { mergeContacts } from '@rapport/core/operations/contacts/merge-contacts.ts'
import { optOutContact, undoOptOut } from '@rapport/core/operations/contacts/opt-out-contact.ts'
import { unsubscribe } from '@rapport/core/operations/contacts/unsubscribe.ts'
import { type Ctx, inTransaction } from '@rapport/core/request/context.ts'
import { liftSuppression } from '@rapport/core/suppressions/lift-suppression.ts'
import { suppress } from '@rapport/core/suppressions/suppress.ts'
import { createSuppression, listSuppressions } from '@rapport/core/suppressions/suppressions.ts'
import { SuppressionQuery } from '@rapport/core/suppressions/suppressions.schema.ts'
import { readWorkspace } from '@rapport/core/workspaces/workspaces.ts'
import { sql } from 'drizzle-orm'
import { agree, type Effect, erase, lift, merge, move, remove, say, undo } from './consent-model.ts'

/** The random part of a step. */
export interface Picked {
  email: string
  other: string
  listId: ListId
  /** Whether an opt-out is of every list. */
  isAll: boolean
}

export type ConsentStep = (ctx: Ctx, picked: Picked) => Promise<Effect | undefined>

/** A contact that does not exist has an id that none has. */
const idOfEmail = async (ctx: Ctx, email: string): Promise<ContactId> =>
  (await findContactByEmail(ctx, email))?.id ?? newId('con')

/** Returns the token that undoes it, if it ended a confirmed subscription. */
export function clickUnsubscribe(ctx: Ctx, link: { contactId: ContactId; email: string; listId: ListId }) {
  return unsubscribe(ctx, new URL(unsubscribeUrl(ctx, link)).searchParams.get('token') ?? '')
}

async function readListsOf(ctx: Ctx, contactId: ContactId): Promise<ListId[]> {
  const { rows } = await ctx.db.execute(sql`
    select list_id from subscriptions
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${uuidOf(contactId)}`)
  return rows.map((row) => idOf('lst', String(row['list_id'])))
}

/** A bounce, a block, or both. */
async function listLiftable(ctx: Ctx, email: string) {
  const { data } = await listSuppressions(ctx, SuppressionQuery.parse({ email }))
  const ids = data.filter(({ reason }) => reason === 'BOUNCED' || reason === 'MANUAL').map(({ id }) => id)
  return ids.length > 0 ? ids : [newId('sup')]
}

export const consentSteps = {
  async create(ctx, { email }) {
    await upsertContact(ctx, { email })
    return undefined
  },
  async add(ctx, { email, listId }) {
    await addSubscriber(ctx, listId, { email, status: 'CONFIRMED' })
    return agree(email, listId)
  },
  async remove(ctx, { email, listId }) {
    await removeSubscriber(ctx, listId, await idOfEmail(ctx, email))
    return remove(email, listId)
  },
  async signUp(ctx, { email, listId }) {
    await subscribe(ctx, listId, { email, firstName: '', lastName: '' })
    return undefined
  },
  async click(ctx, { email, listId }) {
    const contact = await findContactByEmail(ctx, email)
    if (contact) await clickUnsubscribe(ctx, { contactId: contact.id, email, listId })
    return contact && say({ email, scope: listId })
  },
  async complain(ctx, { email }) {
    await suppress(ctx, [{ email, reason: 'COMPLAINED', source: 'MAIL_EVENT' }], { emitsEvents: false })
    // A link of one list lifts the complaint: the others remain ended.
    const ended = await readListsOf(ctx, await idOfEmail(ctx, email))
    return (model) => (['all', ...ended] as const).forEach((scope) => say({ email, scope })(model))
  },
  async bounce(ctx, { email }) {
    await suppress(ctx, [{ email, reason: 'BOUNCED', source: 'MAIL_EVENT' }], { emitsEvents: false })
    return say({ email, scope: 'bounce' })
  },
  async block(ctx, { email }) {
    await createSuppression(ctx, { email, reason: 'MANUAL' })
    return say({ email, scope: 'block' })
  },
  async lift(ctx, { email }) {
    const ids = await listLiftable(ctx, email)
    await inTransaction(ctx, async (ctx) => {
      for (const id of ids) await liftSuppression(ctx, id, { note: 'lifted' })
    })
    return lift(email)
  },
  async optOut(ctx, { email, listId, isAll }) {
    // The contact may have another address by now.
    const contact = await optOutContact(ctx, await idOfEmail(ctx, email), isAll ? {} : { listId })
    return say({ email: contact.email, scope: isAll ? 'all' : listId, by: 'operator' })
  },
  async undo(ctx, { email, listId, isAll }) {
    const contact = await undoOptOut(ctx, await idOfEmail(ctx, email), isAll ? {} : { listId })
    return undo(contact.email, isAll ? 'all' : listId)
  },
  async move(ctx, { email, other }) {
    const { confirmChangedAddress } = await readWorkspace(ctx)
    await updateContact(ctx, await idOfEmail(ctx, email), { email: other })
    return move({ from: email, to: other, isAsked: confirmChangedAddress })
  },
  async merge(ctx, { email, other }) {
    const { confirmChangedAddress } = await readWorkspace(ctx)
    const ids = [await idOfEmail(ctx, email), await idOfEmail(ctx, other)] as const
    await mergeContacts(ctx, ids[0], { contactId: ids[1] })
    return merge({ from: other, to: email, isAsked: confirmChangedAddress })
  },
  async erase(ctx, { email }) {
    await deleteContact(ctx, await idOfEmail(ctx, email))
    return erase(email)
  },
} satisfies Record<string, ConsentStep>

/** The addresses that a campaign to each list would reach. */
export async function readMailable(ctx: Ctx): Promise<{ email: string; listId: ListId }[]> {
  const { rows } = await ctx.db.execute(sql`
    select lower(c.email) as email, s.list_id from subscriptions s
    join contacts c on c.workspace_id = s.workspace_id and c.id = s.contact_id
    where s.workspace_id = ${uuidOf(ctx.workspaceId)} and s.status = 'CONFIRMED'`)
  return rows.map((row) => ({ email: String(row['email']), listId: idOf('lst', String(row['list_id'])) }))
}
