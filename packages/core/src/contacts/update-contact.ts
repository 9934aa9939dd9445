import { lockCompanyName } from '../companies/linked-companies.ts'
import { updateStatement } from '../db/json-rows.ts'
import { contacts } from '../db/schema/index.ts'
import { emitUpdates } from '../events/emit.ts'
import { violatedConstraint } from '../db/database-errors.ts'
import { invalidField, notFound } from '../kernel/errors.ts'
import type { ContactId } from '../kernel/ids.ts'
import { isSameAddress } from '../kernel/values/email-key.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { checkCustomValues } from '../custom-fields/check-custom-values.ts'
import { askToConfirm, changeAddress } from '../consent/change-address.ts'
import { moveTrackingChoices } from '../consent/tracking/tracking-consents.ts'
import { lockConsent } from '../consent/consent-records.ts'
import { alreadyExists, requireNoAlias } from './find-contact.ts'
import { contactUpdated } from './contact-events.ts'
import { type ContactRow, toContact } from './contact-record.ts'
import type { Contact, ContactChange, TagsInput } from './contacts.schema.ts'
import { lockContact, lockContacts } from './lock-contact.ts'
import { mergeContact, mergePolicies, withTimeOfUpdate } from './merge-contact.ts'

/** Updates the given properties: merges `customFieldValues` (null removes a key) and replaces `tags`. */
export function updateContact(ctx: Ctx, id: ContactId, change: ContactChange): Promise<Contact> {
  return updateLocked(ctx, id, async (ctx, current) => {
    const customFieldValues = await checkCustomValues(ctx, 'CONTACT', change.customFieldValues ?? {})
    const companyName = change.companyId ? await lockCompanyName(ctx, change.companyId) : undefined
    return mergeContact(current, { ...change, customFieldValues, companyName }, mergePolicies.update)
  })
}

export function addTags(ctx: Ctx, id: ContactId, input: TagsInput): Promise<Contact> {
  return updateLocked(ctx, id, (_ctx, current) => mergeContact(current, input, mergePolicies.import))
}

/** Removes a tag. A missing tag is not an error. */
export function removeTag(ctx: Ctx, id: ContactId, tag: string): Promise<Contact> {
  return updateLocked(ctx, id, (_ctx, current) => ({ ...current, tags: current.tags.filter((one) => one !== tag) }))
}

interface TagsChange {
  contactIds: readonly ContactId[]
  add: readonly string[]
  remove: readonly string[]
}

/** Adds and removes tags of several contacts: of all of them, or of none. Returns the contacts in the given order. */
export function changeTags(ctx: Ctx, { contactIds, add, remove }: TagsChange): Promise<Contact[]> {
  return inTransaction(ctx, async (ctx) => {
    await lockContacts(ctx, contactIds)
    const changed: Contact[] = []
    for (const [index, id] of contactIds.entries()) {
      const current = await lockContact(ctx, id)
      if (!current) throw invalidField(`contactIds.${index}`, `contactIds.${index}: Contact not found`)
      const kept = { ...current, tags: current.tags.filter((tag) => !remove.includes(tag)) }
      changed.push(await saveAndEmit(ctx, current, mergeContact(kept, { tags: [...add] }, mergePolicies.import)))
    }
    return changed
  })
}

/** Deletes a locked contact's row, after its records in other slices were deleted or moved: see `operations/`. */
export async function deleteContactRow(ctx: Ctx, id: ContactId): Promise<void> {
  await ctx.db.delete(contacts).where(byId(contacts, ctx, id))
}

/**
 * Writes `next` over the locked `current` and returns the saved contact, or `current` itself if nothing changed. When
 * the email changes, the suppressions of either address apply to both. Emits no event. Throws `already_exists` if a key
 * is taken.
 */
export async function saveContact(ctx: Ctx, current: ContactRow, next: ContactRow): Promise<ContactRow> {
  const saved = withTimeOfUpdate(current, next)
  if (saved === current) return current
  const write = ({ db }: Ctx) => updateRow(db, saved)
  const { email, externalId } = next
  if (email === current.email && externalId === current.externalId) {
    await write(ctx)
    return saved
  }
  // In a savepoint, so that the transaction can look up the owner of a taken key.
  await inTransaction(ctx, write).catch(async (error: unknown) => {
    const constraint = violatedConstraint(error)
    if (constraint === 'contacts_external_id_key') throw await alreadyExists(ctx, { externalId })
    if (constraint === 'contacts_email_key') throw await alreadyExists(ctx, { email })
    throw error
  })
  if (externalId !== null && externalId !== current.externalId) await requireNoAlias(ctx, externalId)
  if (isSameAddress(next.email, current.email)) return saved
  const { id } = saved
  const locked = { contacts: [{ id, email }], emails: [current.email], mode: 'exclusive' } as const
  const change = { id, from: current.email, to: email }
  const records = await lockConsent(ctx, locked)
  await moveTrackingChoices(ctx, [change], true)
  const { isChanged, asked } = await changeAddress(ctx, records, change)
  await askToConfirm(ctx, email, asked)
  return isChanged ? ((await lockContact(ctx, saved.id)) ?? saved) : saved
}

const updateRow = updateStatement(contacts)

/** Saves a locked contact, and emits `contact.updated` if it changed. */
async function saveAndEmit(ctx: Ctx, current: ContactRow, next: ContactRow): Promise<Contact> {
  const saved = await saveContact(ctx, current, next)
  const contact = toContact(saved)
  if (saved !== current) await emitUpdates(ctx, contactUpdated, [{ before: toContact(current), after: contact }])
  return contact
}

type Edit = (ctx: Ctx, current: ContactRow) => ContactRow | Promise<ContactRow>

/** Updates one contact under its lock, so that no concurrent change is lost. */
function updateLocked(ctx: Ctx, id: ContactId, edit: Edit): Promise<Contact> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockContact(ctx, id)
    if (!current) throw notFound('Contact')
    return saveAndEmit(ctx, current, await edit(ctx, current))
  })
}
