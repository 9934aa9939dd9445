import { isDeepStrictEqual } from 'node:util'
import { updateStatement } from '../db/json-rows.ts'
import { contacts } from '../db/schema/index.ts'
import { emit } from '../events/emit.ts'
import { violatedConstraint } from '../db/database-errors.ts'
import { invalidField, notFound } from '../kernel/errors.ts'
import { timeOfUpdate } from '../kernel/time-of-update.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import type { ContactId } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { applyStoredOptOuts } from '../subscriptions/apply-stored-opt-outs.ts'
import { storeOptOutsOfContact } from '../subscriptions/opt-outs.ts'
import { recordSubscriptionActivity } from '../subscriptions/subscribed-status.ts'
import { type SuppressedStatus, suppressSubscriptions } from '../subscriptions/suppressions.ts'
import { alreadyExists, findContactByEmail, lockContactByEmail } from './contact-address.ts'
import { contactUpdated } from './contact-events.ts'
import { fillEmptyProperties } from './contact-properties.ts'
import { type ContactRow, toContact } from './contact-record.ts'
import type { Contact, ContactChange, ContactInput, TagsInput } from './contacts.schema.ts'
import { checkNewContact, insertContact } from './create-contact.ts'
import {
  checkCustomValues,
  type CustomValue,
  type CustomValues,
  exceedsCustomValueSize,
  mergeCustomValues,
  requireCustomValueSize,
} from '../custom-fields/custom-fields.ts'
import { lockContact, lockContacts } from './lock-contact.ts'

export const maxTags = 100
export const tooManyTags = `tags: a contact can have at most ${maxTags} tags`

/** Updates the given properties: merges `customFieldValues` (null removes a key) and replaces `tags`. */
export function updateContact(ctx: Ctx, id: ContactId, change: ContactChange): Promise<Contact> {
  return updateLocked(ctx, id, (ctx, current) => applyChange(ctx, current, change))
}

export function addTags(ctx: Ctx, id: ContactId, input: TagsInput): Promise<Contact> {
  return updateLocked(ctx, id, (_ctx, current) => withTagsAdded(current, input.tags))
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
      changed.push(await saveAndEmit(ctx, current, withTagsAdded(kept, add)))
    }
    return changed
  })
}

function withTagsAdded(contact: ContactRow, added: readonly string[]): ContactRow {
  const tags = [...new Set([...contact.tags, ...added])]
  if (tags.length > maxTags) throw invalidField('tags', tooManyTags)
  return { ...contact, tags }
}

/**
 * Creates a contact, or updates the contact with the same email: sets the given properties and keeps the rest.
 * Concurrent calls create one contact, and each call updates the result of the previous one.
 */
export function upsertContact(ctx: Ctx, input: ContactInput): Promise<{ contact: Contact; isNew: boolean }> {
  return inTransaction(ctx, async (ctx) => {
    const { contact, isNew } = await findOrCreateForUpdate(ctx, input)
    if (isNew) return { contact: toContact(contact), isNew }
    const next = await applyChange(ctx, contact, { ...input, email: contact.email })
    return { contact: await saveAndEmit(ctx, contact, next), isNew }
  })
}

/**
 * Finds or creates the contact with an email, and locks it until the transaction ends. For visitor input: it fills
 * empty properties of an existing contact and never overwrites any. Custom values that would be too many are not added.
 * `source` is set on a new contact only.
 */
export async function findOrCreateContact(ctx: Ctx, input: ContactInput): Promise<Contact> {
  const custom = await checkCustomValues(ctx, input.customFieldValues ?? {})
  // For known contacts too: otherwise the error would tell the visitor that the contact is unknown.
  requireCustomValueSize(mergeCustomValues({}, custom))
  const { contact, isNew } = await findOrCreateForUpdate(ctx, input)
  if (isNew) return toContact(contact)
  const filled = mergeCustomValues(custom as CustomValues, contact.customFieldValues)
  const isTooLarge = exceedsCustomValueSize(filled, contact.customFieldValues)
  return saveAndEmit(ctx, contact, {
    ...fillEmptyProperties(contact, withoutUndefined(input)),
    // Without an error, which would tell the visitor that the contact is known.
    customFieldValues: isTooLarge ? contact.customFieldValues : filled,
    tags: [...new Set([...contact.tags, ...(input.tags ?? [])])].slice(0, maxTags),
  })
}

/** Suppresses the subscriptions of a contact after a bounce or complaint. Returns undefined if nothing changed. */
export async function suppressContact(
  ctx: Ctx,
  id: ContactId,
  status: SuppressedStatus,
): Promise<ContactRow | undefined> {
  const row = await lockContact(ctx, id)
  if (!row || !(await suppressSubscriptions(ctx, id, status))) return undefined
  await recordSubscriptionActivity(ctx, [id])
  return lockContact(ctx, id)
}

/**
 * Writes `next` over the locked `current` and returns the saved contact, or `current` itself if nothing changed. When
 * the email changes, it stores the opt-outs of the old address and applies those of the new one. Emits no event.
 */
export async function saveContact(ctx: Ctx, current: ContactRow, next: ContactRow): Promise<ContactRow> {
  const saved = withTimeOfUpdate(current, next)
  if (saved === current) return current
  const write = ({ db }: Ctx) => updateRow(db, saved)
  if (next.email === current.email) {
    await write(ctx)
    return saved
  }
  // In a savepoint, so that the transaction can look up the owner of a taken email.
  await inTransaction(ctx, write).catch(async (error: unknown) => {
    const isTaken = violatedConstraint(error) === 'contacts_email_key'
    throw isTaken ? alreadyExists(await findContactByEmail(ctx, next.email)) : error
  })
  if (next.email.toLowerCase() === current.email.toLowerCase()) return saved
  await storeOptOutsOfContact(ctx, current)
  return (await applyStoredOptOuts(ctx, saved)) ? ((await lockContact(ctx, saved.id)) ?? saved) : saved
}

const updateRow = updateStatement(contacts)

/** Returns `next` with the time of the update, or `current` itself if nothing changed. */
export function withTimeOfUpdate(current: ContactRow, next: ContactRow): ContactRow {
  return isDeepStrictEqual(current, next) ? current : { ...next, updatedAt: timeOfUpdate(current.updatedAt) }
}

/** Saves a locked contact, and emits `contact.updated` if it changed. */
async function saveAndEmit(ctx: Ctx, current: ContactRow, next: ContactRow): Promise<Contact> {
  const saved = await saveContact(ctx, current, next)
  const contact = toContact(saved)
  if (saved !== current) await emit(ctx, contactUpdated, contact)
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

async function applyChange(ctx: Ctx, current: ContactRow, change: ContactChange): Promise<ContactRow> {
  const customFieldValues = await checkCustomValues(ctx, change.customFieldValues ?? {})
  const next = mergeChange(current, { ...change, customFieldValues })
  requireCustomValueSize(next.customFieldValues, current.customFieldValues)
  return next
}

/** Returns the contact with the given properties and custom values. Null removes a custom value. */
export function mergeChange(current: ContactRow, change: CheckedChange): ContactRow {
  const { customFieldValues, ...properties } = change
  return {
    ...current,
    ...withoutUndefined(properties),
    customFieldValues: mergeCustomValues(current.customFieldValues, customFieldValues),
  }
}

export type CheckedChange = Omit<ContactChange, 'customFieldValues'> & {
  customFieldValues: Record<string, CustomValue | null>
}

/** Creates the contact with an email, or locks it. Retries if it is created in the meantime. */
async function findOrCreateForUpdate(ctx: Ctx, input: ContactInput): Promise<{ contact: ContactRow; isNew: boolean }> {
  for (;;) {
    const contact = await checkNewContact(ctx, input)
    const known = await lockContactByEmail(ctx, input.email)
    if (known) return { contact: known, isNew: false }
    requireCustomValueSize(contact.customFieldValues)
    if (await insertContact(ctx, contact)) return { contact, isNew: true }
  }
}
