import { isDeepStrictEqual } from 'node:util'
import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { violatedConstraint, invalidField, notFound } from '../kernel/errors.ts'
import { emit } from '../events/emit.ts'
import { applyStoredOptOuts } from '../subscriptions/apply-stored-opt-outs.ts'
import { keepOptOuts } from '../subscriptions/opt-outs.ts'
import { type SuppressedStatus, suppressSubscriptions } from '../subscriptions/suppressions.ts'
import { contacts } from '../db/schema/index.ts'
import { alreadyExists, findContactByEmail } from './contact-address.ts'
import { insertContact } from './create-contact.ts'
import { contactColumns, type ContactRow, toContact } from './contact-record.ts'
import { updateLastActivity, updateContact } from './contact-statements.ts'
import { lockContact } from './lock-contact.ts'
import { type Contact, type ContactChange, type ContactInput, type TagsInput } from './contacts.schema.ts'
import { checkCustomValues, type CustomValues, mergeCustomValues } from './custom-fields/custom-fields.ts'
import { noteSubscriptionChange } from '../subscriptions/subscribed-status.ts'
import { contactUpdated } from './contact-events.ts'

export const maxTags = 100

/**
 * The contact of this address, created or changed: what the input names is set, the rest stays. However many call at
 * once, there is one contact, and each call works on what the one before it left.
 */
export function upsertContact(ctx: Ctx, input: ContactInput): Promise<{ contact: Contact; isNew: boolean }> {
  return inTransaction(ctx, async (ctx) => {
    const { created, known } = await findOrCreateForUpdate(ctx, input)
    if (created) return { contact: created, isNew: true }
    const next = await changed(ctx, known, { ...input, email: known.email })
    return { contact: await replaceContact(ctx, known, next), isNew: false }
  })
}

/** Sets what the change names: merges `customFieldValues` (null removes a key), replaces `tags`. */
export function changeContact(ctx: Ctx, id: string, change: ContactChange): Promise<Contact> {
  return editContact(ctx, id, (ctx, current) => changed(ctx, current, change))
}

/** Adds tags, whatever others there are. */
export function addTags(ctx: Ctx, id: string, input: TagsInput): Promise<Contact> {
  return editContact(ctx, id, async (_ctx, current) => {
    const tags = [...new Set([...current.tags, ...input.tags])]
    if (tags.length > maxTags) throw invalidField('tags', `tags: a contact has at most ${maxTags}`)
    return { ...current, tags }
  })
}

/** Removes a tag. One that the contact does not have is no error: the wish is fulfilled. */
export function removeTag(ctx: Ctx, id: string, tag: string): Promise<Contact> {
  return editContact(ctx, id, async (_ctx, current) => ({
    ...current,
    tags: current.tags.filter((one) => one !== tag),
  }))
}

/**
 * The contact of this address, made when there is none, and in any case locked until the transaction ends. A stranger's
 * word: it fills what is empty in a known contact and never overwrites. `source` is that of a new contact alone.
 */
export async function findOrCreateContact(ctx: Ctx, input: ContactInput): Promise<Contact> {
  const { created, known } = await findOrCreateForUpdate(ctx, input)
  if (created) return created
  const custom = await checkCustomValues(ctx, input.customFieldValues ?? {})
  return replaceContact(ctx, known, {
    ...known,
    firstName: known.firstName || (input.firstName ?? ''),
    lastName: known.lastName || (input.lastName ?? ''),
    phone: known.phone ?? input.phone ?? null,
    company: known.company ?? input.company ?? null,
    customFieldValues: mergeCustomValues(custom as CustomValues, known.customFieldValues),
    tags: [...new Set([...known.tags, ...(input.tags ?? [])])].slice(0, maxTags),
  })
}

/**
 * Moves `lastActivityAt`, in the transaction of what happened to the contact, and locks it as `lockContact` does.
 * Answers whether there is one.
 */
export async function touchLastActivity(ctx: Ctx, id: string): Promise<boolean> {
  const moved = await updateLastActivity(ctx.db, { workspaceId: ctx.workspaceId, id })
  return moved.length > 0
}

/**
 * Writes `next` over `current`, which is locked, unless nothing changes: then it hands `current` itself back. What
 * the former address opted out of is remembered for it, and what the new one once said of the lists holds.
 */
export async function writeContact(ctx: Ctx, current: ContactRow, next: ContactRow): Promise<ContactRow> {
  if (isDeepStrictEqual(current, next)) return current
  const write = ({ db }: Ctx) => updateContact(db, { ...next, workspaceId: ctx.workspaceId, id: current.id })
  if (next.email === current.email) return (await write(ctx))[0] ?? current
  // In a savepoint, so that an address that is taken leaves a transaction in which its owner can be looked up.
  const [row] = await inTransaction(ctx, write).catch(async (error: unknown) => {
    throw violatedConstraint(error) === 'contacts_email_key'
      ? alreadyExists(await findContactByEmail(ctx, next.email))
      : error
  })
  if (!row) throw notFound('Contact')
  if (row.email.toLowerCase() === current.email.toLowerCase()) return row
  await keepOptOuts(ctx, current)
  return (await applyStoredOptOuts(ctx, row)) ? ((await lockContact(ctx, row.id)) ?? row) : row
}

/** Takes a contact off every list, for what happened to their address. Undefined when nothing changed. */
export async function suppressContact(ctx: Ctx, id: string, status: SuppressedStatus): Promise<ContactRow | undefined> {
  const row = await lockContact(ctx, id)
  if (!row || !(await suppressSubscriptions(ctx, id, status))) return undefined
  await noteSubscriptionChange(ctx, [id])
  return lockContact(ctx, id)
}

type Edit = (ctx: Ctx, current: ContactRow) => Promise<ContactRow>

/** One contact, changed under a lock: what others write meanwhile is neither lost nor overwritten. */
function editContact(ctx: Ctx, id: string, edit: Edit): Promise<Contact> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockContact(ctx, id)
    if (!current) throw notFound('Contact')
    return replaceContact(ctx, current, await edit(ctx, current))
  })
}

/** Puts `next` in the place of a locked contact, and tells `contact.updated` unless nothing changes. */
async function replaceContact(ctx: Ctx, current: ContactRow, next: ContactRow): Promise<Contact> {
  const row = await writeContact(ctx, current, next)
  const contact = toContact(row)
  if (row !== current) await emit(ctx, contactUpdated, contact)
  return contact
}

async function changed(ctx: Ctx, current: ContactRow, change: ContactChange): Promise<ContactRow> {
  const { customFieldValues, ...rest } = change
  const custom = customFieldValues && (await checkCustomValues(ctx, customFieldValues))
  const named = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  return { ...current, ...named, customFieldValues: mergeCustomValues(current.customFieldValues, custom ?? {}) }
}

type InsertedOrLocked = { created: Contact; known?: never } | { created?: never; known: ContactRow }

/** Again when the one who had the address goes, or changes it, between the two: then it is free, or another's. */
async function findOrCreateForUpdate(ctx: Ctx, input: ContactInput): Promise<InsertedOrLocked> {
  for (;;) {
    const created = await insertContact(ctx, input)
    if (created) return { created }
    const [known] = await ctx.db
      .select(contactColumns)
      .from(contacts)
      .where(and(eq(contacts.workspaceId, ctx.workspaceId), sql`lower(${contacts.email}) = lower(${input.email})`))
      .for('no key update')
    if (known) return { known }
  }
}
