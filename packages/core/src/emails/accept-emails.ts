/**
 * Accepts emails to one person each in one transaction, in which each step is one statement for all of them, beside one
 * for each version of a template that is not in memory. A refused email changes nothing: if its contact was written for
 * it, the transaction is repeated without it.
 */
import type { AddressedContact } from '../consent/consent-records.ts'
import { sourceLength } from '../contacts/contacts.schema.ts'
import { findContactsByKeys, lockKnownContacts } from '../contacts/find-contact.ts'
import { createContactIndex } from '../contacts/identity/contact-index.ts'
import { lockContacts } from '../contacts/lock-contact.ts'
import { mergePolicies } from '../contacts/merge-contact.ts'
import { writeContacts } from '../contacts/write-contacts.ts'
import { AppError, conflict, invalidField } from '../kernel/errors.ts'
import { startOfText } from '../kernel/values/text.ts'
import { openAddressQuotas } from '../mail/mail-quotas.ts'
import { requireVerifiedOwner } from '../mail/verified-owner.ts'
import { contactQuota } from '../quotas/record-quota.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { createBlockedError, findEmailBlocks } from '../suppressions/email-block.ts'
import { emailsPerAddress, openEmailQuotas } from './email-quotas.ts'
import type { EmailRow } from './email-record.ts'
import { requireTemplateSender } from './email-sender.ts'
import { type EmailInput, refusalCodes } from './emails.schema.ts'
import { insertEmails, lockTemplates, type SendableTemplate } from './insert-emails.ts'
import { checkData } from './templates/variables.ts'

type Refusals = Map<EmailInput, AppError>

/** An email whose template and values are valid. */
interface Candidate {
  input: EmailInput
  template: SendableTemplate
}

interface AddressedEmail extends Candidate {
  contact: AddressedContact
  /** Whether the transaction has created or changed the contact. */
  isWritten?: boolean
}

/** Rolls the transaction back. */
class RefusedEmails extends Error {
  readonly refusals: Refusals
  constructor(refusals: Refusals) {
    super('The contacts of refused emails were written')
    this.refusals = refusals
  }
}

/** Accepts the emails that can be accepted, and returns an email or an error for each, in their order. */
export async function acceptEmails(ctx: Ctx, inputs: readonly EmailInput[]): Promise<(EmailRow | AppError)[]> {
  const results = new Map<EmailInput, EmailRow | AppError>()
  for (let open = inputs; open.length > 0; open = inputs.filter((input) => !results.has(input))) {
    const found = await inTransaction(ctx, (ctx) => acceptAll(ctx, open)).catch((error: unknown) => {
      if (error instanceof RefusedEmails) return error.refusals
      throw error
    })
    for (const [input, result] of found) results.set(input, result)
  }
  return inputs.flatMap((input) => results.get(input) ?? [])
}

async function acceptAll(ctx: Ctx, inputs: readonly EmailInput[]): Promise<Map<EmailInput, EmailRow | AppError>> {
  const refusals: Refusals = new Map()
  // In the order of all writers: the quotas before the contacts.
  const takeOfQuotas = await openEmailQuotas(ctx, inputs.length)
  const candidates = await checkTemplates(ctx, inputs, refusals)
  const addressed = await findRecipients(ctx, candidates, refusals)
  const accepted = await checkRecipients(ctx, addressed, { refusals, takeOfQuotas })
  if (addressed.some(({ input, isWritten }) => isWritten && refusals.has(input))) throw new RefusedEmails(refusals)
  const rows = await insertEmails(ctx, accepted)
  return new Map<EmailInput, EmailRow | AppError>([
    ...refusals,
    ...accepted.flatMap(({ input }, index) => (rows[index] ? [[input, rows[index]] as const] : [])),
  ])
}

type RefusalCode = (typeof refusalCodes)[number]

/** Whether an error is one of `refusalCodes`. */
export const isRefusal = (error: unknown): error is AppError & { code: RefusalCode } =>
  error instanceof AppError && (refusalCodes as readonly string[]).includes(error.code)

/** Returns the results of what passes the check, and keeps the errors of the rest. */
async function keepPassing<Item extends { input: EmailInput }, Result>(
  items: readonly Item[],
  refusals: Refusals,
  check: (item: Item) => Promise<Result> | Result,
): Promise<Result[]> {
  const passing: Result[] = []
  for (const item of items) {
    try {
      passing.push(await check(item))
    } catch (error) {
      if (!isRefusal(error)) throw error
      refusals.set(item.input, error)
    }
  }
  return passing
}

async function checkTemplates(ctx: Ctx, inputs: readonly EmailInput[], refusals: Refusals): Promise<Candidate[]> {
  const ids = new Set(inputs.map(({ templateId }) => templateId))
  const templates = new Map((await lockTemplates(ctx, [...ids])).map((template) => [template.id, template]))
  let verifying: Promise<void> | undefined
  const candidates = inputs.map((input) => ({ input, template: templates.get(input.templateId) }))
  return keepPassing(candidates, refusals, async ({ input, template }) => {
    if (!template) throw invalidField('templateId', 'Template not found')
    const { status, pauseReason, content } = template
    checkData(content.variables, input.data)
    if (status === 'PAUSED')
      throw conflict('wrong_state', `The template is PAUSED${pauseReason ? `: ${pauseReason}` : ''}`)
    await (verifying ??= requireVerifiedOwner(ctx))
    await requireTemplateSender(ctx, content.fromEmail)
    return { input, template }
  })
}

/** Finds or creates the contacts, and locks them until the transaction ends. */
async function findRecipients(
  ctx: Ctx,
  candidates: readonly Candidate[],
  refusals: Refusals,
): Promise<readonly AddressedEmail[]> {
  const given = candidates.map((candidate) => ({ ...candidate, to: candidate.input.to }))
  const byId = given.flatMap(({ to, ...one }) => ('contactId' in to ? { ...one, to } : []))
  const byExternalId = given.flatMap(({ to, ...one }) => ('externalId' in to ? { ...one, to } : []))
  const byEmail = given.flatMap(({ to, ...one }) => ('email' in to ? { ...one, to } : []))
  const ids = byId.map(({ to }) => to.contactId)
  const keys = [...byExternalId, ...byEmail].map(({ to }) => to)
  if (keys.length > 0) await contactQuota.read(ctx)
  // Those that are named in several ways are locked together, in the order of all writers.
  if (Math.max(byId.length, byExternalId.length, byEmail.length) < given.length)
    await lockContacts(ctx, [...ids, ...(await findContactsByKeys(ctx, keys)).map(({ id }) => id)])
  const found = new Map((ids.length > 0 ? await lockContacts(ctx, ids) : []).map((contact) => [contact.id, contact]))
  const named = await keepPassing(byId, refusals, ({ to, ...one }): AddressedEmail => {
    const contact = found.get(to.contactId)
    if (!contact) throw invalidField('to.contactId', 'Contact not found')
    return { ...one, contact }
  })
  const known = byExternalId.map(({ to }) => to)
  const index = createContactIndex(known.length > 0 ? await lockKnownContacts(ctx, known) : noContacts)
  const matched = await keepPassing(byExternalId, refusals, ({ to, ...one }): AddressedEmail => {
    const { record: contact } = index.match(to)
    if (!contact) throw invalidField('to.externalId', 'Contact not found')
    return { ...one, contact }
  })
  const written = await keepPassing(
    await writeRecipients(ctx, byEmail),
    refusals,
    ({ outcome, ...one }): AddressedEmail => {
      if (outcome.status === 'REJECTED') throw outcome.error
      return { ...one, contact: outcome.contact, isWritten: outcome.status !== 'UNCHANGED' }
    },
  )
  const order = new Map(candidates.map(({ input }, index) => [input, index]))
  const orderOf = ({ input }: Candidate) => order.get(input) ?? 0
  return [...named, ...matched, ...written].toSorted((one, other) => orderOf(one) - orderOf(other))
}

const noContacts = { contacts: [], aliases: new Map() }

async function writeRecipients<Named extends Candidate & { to: { email: string } }>(ctx: Ctx, named: readonly Named[]) {
  if (named.length === 0) return []
  const contacts = named.map(({ to, template }) => ({
    ...to,
    source: startOfText(`email:${template.name}`, sourceLength),
  }))
  const outcomes = await writeContacts(ctx, contacts, { onExisting: mergePolicies.fill, emitsEvents: true })
  return named.flatMap((one, index) => (outcomes[index] ? { ...one, outcome: outcomes[index] } : []))
}

/** Asks for suppressions and quotas. */
async function checkRecipients(
  ctx: Ctx,
  addressed: readonly AddressedEmail[],
  { refusals, takeOfQuotas }: { refusals: Refusals; takeOfQuotas: () => Promise<void> },
): Promise<readonly AddressedEmail[]> {
  const contacts = addressed.map(({ contact }) => contact)
  const blocks = await findEmailBlocks(ctx, contacts)
  const addresses = contacts.flatMap(({ id, email }) => (blocks.has(id) ? [] : email))
  const takeOfAddress = await openAddressQuotas(ctx, addresses, await emailsPerAddress.read(ctx))
  return keepPassing(addressed, refusals, async (one) => {
    const { contact } = one
    const reason = blocks.get(contact.id)
    if (reason) throw createBlockedError(reason)
    // The one of the workspace last: what another one refuses must not take of it.
    await takeOfAddress(contact.email)
    await takeOfQuotas()
    return one
  })
}
