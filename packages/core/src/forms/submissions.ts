import { and, eq } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { type AddressedContact, readSuppressions } from '../consent/consent-records.ts'
import { canConfirm } from '../consent/suppression-rows.ts'
import type { NewContactInput } from '../contacts/contacts.schema.ts'
import { lockContactsByKeys } from '../contacts/find-contact.ts'
import { touchLastActivity } from '../contacts/touch-last-activity.ts'
import { contactQuota } from '../quotas/record-quota.ts'
import { findOrCreateContact } from '../contacts/upsert-contact.ts'
import { byId, lockById } from '../request/by-id.ts'
import { type BaseCtx, type Ctx, inTransaction, publicContext } from '../request/context.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import { hashText } from '../kernel/values/encode-text.ts'
import { emit } from '../events/emit.ts'
import { findLanguage } from '../kernel/values/languages.ts'
import { type ContactId, type FormId, newId, type SubmissionId } from '../kernel/ids.ts'
import { inRounds } from '../request/in-rounds.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { formSubmissions } from '../db/schema/index.ts'
import { requireNotSuspended } from '../request/workspace-state.ts'
import { followConsents, isSignUp } from './form-consents.ts'
import { toContactInput } from './form-mapping.ts'
import { checkFormValues, type FormValues } from './form-values.ts'
import { countSpam, findPublicForm, type FormRow, lockForm, readForm, computeFormVersion } from './forms.ts'
import { honeypotId } from './forms.schema.ts'
import type { Submission, SubmissionQuery, SubmitInput, SubmitResult } from './submissions.schema.ts'
import { formSubmitted } from './form-events.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

export type SubmissionRow = typeof formSubmissions.$inferSelect

interface SubmitOptions extends SubmitInput {
  /** Of the page where the form was shown. Default: that of the form. */
  locale?: string | undefined
  /** Deduplicates submissions: the same key with the same values returns the first submission. */
  repetitionKey?: string | undefined
  /**
   * Versions of the form that the visitor may have seen. The submission is rejected if the current version is not among
   * them, because a consent covers only the wording that was shown.
   */
  versions?: readonly string[] | undefined
}

/**
 * Submits a form for a visitor. One transaction stores the submission, emits `form.submitted`, and creates a contact or
 * fills the empty properties of an existing one. `followConsents` does what the visitor consents to. A submission that
 * fills in the honeypot is only counted and gets the same response.
 */
export async function submitForm(base: BaseCtx, formId: FormId, input: SubmitOptions): Promise<SubmitResult> {
  const form = await findPublicForm(base, formId)
  const visitor = publicContext(base, form.workspaceId)
  await requireNotSuspended(visitor)
  const { [honeypotId]: honeypot, ...fieldValues } = input.values
  if (honeypot !== undefined && honeypot !== null && honeypot !== '') {
    await countSpam(visitor, formId)
    return { success: true, submissionId: newId('sub') }
  }
  if (input.versions && !input.versions.includes(computeFormVersion(form))) {
    throw new AppError('precondition_failed', 'This form has changed. Please review your answers and submit again.')
  }
  const locale = input.locale ?? form.locale
  const values = checkFormValues(form.fields, fieldValues, findLanguage([locale]))
  const repetitionHash = input.repetitionKey === undefined ? null : hashRepetition(input.repetitionKey, values)
  const submissionId = await inRounds(visitor, (ctx) => saveSubmission(ctx, form, { values, repetitionHash, locale }))
  return { success: true, submissionId }
}

type CheckedSubmission = Pick<SubmissionRow, 'values' | 'repetitionHash'> & { locale: string | null }

async function saveSubmission(
  ctx: Ctx,
  form: FormRow,
  { values, repetitionHash, locale }: CheckedSubmission,
): Promise<SubmissionId> {
  // First, so that a repeated submission does not undo later changes of the contact.
  const repeated = repetitionHash && (await findRepeated(ctx, form, repetitionHash))
  if (repeated) return repeated
  const source = `form:${form.name}`
  const contactInput = await toContactInput(ctx, form.fields, values)
  // For known contacts too: otherwise the response would tell them from unknown ones.
  if (contactInput) await contactQuota.require(ctx)
  const consents = form.fields
    .filter(({ id, type }) => type === 'CONSENT' && values[id] === true)
    .map(({ id, label }) => ({ fieldId: id, wording: label }))
  const given = new Set(consents.map(({ fieldId }) => fieldId))
  const contact = contactInput && (await findSubmitter(ctx, form, { given, ...contactInput, source, locale }))
  const submission: SubmissionRow = {
    workspaceId: ctx.workspaceId,
    id: newId('sub'),
    formId: form.id,
    contactId: contact?.id ?? null,
    values,
    consents,
    repetitionHash,
    createdAt: timestampNow(),
  }
  // Throws if the form was deleted since it was read.
  await lockForm(ctx, form.id, 'key share')
  const { rowCount } = await ctx.db.insert(formSubmissions).values(submission).onConflictDoNothing()
  // A concurrent request inserted the same submission: look it up.
  if (!rowCount) return saveSubmission(ctx, form, { values, repetitionHash, locale })
  await emit(ctx, formSubmitted, toSubmission(submission))
  if (!contact) return submission.id
  await touchLastActivity(ctx, contact.id)
  await followConsents(ctx, form, { contact, source, locale, given })
  return submission.id
}

/**
 * Creates the contact, or fills its empty properties, and locks it. A sign-up while a bounce or a block suppresses
 * the address creates and fills none, as the link could not lift it: only the submission is stored.
 */
async function findSubmitter(
  ctx: Ctx,
  form: FormRow,
  { given, ...input }: NewContactInput & { given: ReadonlySet<string> },
): Promise<AddressedContact | undefined> {
  const { email } = input
  const isRefused =
    form.listId !== null &&
    isSignUp(form, given) &&
    !canConfirm(await readSuppressions(ctx, { email, listId: form.listId }))
  if (!isRefused) return findOrCreateContact(ctx, { ...input, tags: form.tags })
  const [known] = await lockContactsByKeys(ctx, [{ email }])
  return known
}

export async function listSubmissions(ctx: Ctx, formId: FormId, query: SubmissionQuery): Promise<Page<Submission>> {
  await readForm(ctx, formId)
  const page = await readPage<SubmissionRow>(ctx, {
    name: `submissions ${formId}`,
    query,
    ...byCreation<SubmissionRow>(formSubmissions),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(formSubmissions)
        .where(
          and(
            eq(formSubmissions.workspaceId, ctx.workspaceId),
            eq(formSubmissions.formId, formId),
            isCreatedInRange(formSubmissions, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toSubmission) }
}

interface SubmissionKey {
  formId: FormId
  submissionId: SubmissionId
}

export async function readSubmission(ctx: Ctx, key: SubmissionKey): Promise<Submission> {
  await readForm(ctx, key.formId)
  const [row] = await ctx.db.select().from(formSubmissions).where(isSubmissionOfForm(ctx, key))
  if (!row) throw notFound('Submission')
  return toSubmission(row)
}

/** Locks a submission until the transaction ends. */
export const lockSubmission = (ctx: Ctx, id: SubmissionId): Promise<void> => lockById(formSubmissions, ctx, id)

/** Deletes one submission; its contact remains. */
export async function deleteSubmission(ctx: Ctx, key: SubmissionKey): Promise<void> {
  await inTransaction(ctx, async (ctx) => {
    await readForm(ctx, key.formId)
    const [row] = await ctx.db
      .delete(formSubmissions)
      .where(isSubmissionOfForm(ctx, key))
      .returning({ id: formSubmissions.id })
    if (!row) throw notFound('Submission')
    await audit(ctx, 'submission.deleted', { subjectId: row.id })
  })
}

/** Moves the submissions of a merged contact to the remaining contact. */
export async function moveSubmissions(ctx: Ctx, contacts: { from: ContactId; to: ContactId }): Promise<void> {
  await ctx.db
    .update(formSubmissions)
    .set({ contactId: contacts.to })
    .where(and(eq(formSubmissions.workspaceId, ctx.workspaceId), eq(formSubmissions.contactId, contacts.from)))
}

/** Deletes the submissions of a locked contact. */
export async function deleteSubmissionsOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await ctx.db
    .delete(formSubmissions)
    .where(and(eq(formSubmissions.workspaceId, ctx.workspaceId), eq(formSubmissions.contactId, contactId)))
}

/** Includes the values, so that a visitor who goes back and corrects them makes a new submission. */
function hashRepetition(key: string, values: FormValues): string {
  return hashText(JSON.stringify([key, values]))
}

async function findRepeated(ctx: Ctx, form: FormRow, repetitionHash: string): Promise<SubmissionId | undefined> {
  const [row] = await ctx.db
    .select({ id: formSubmissions.id })
    .from(formSubmissions)
    .where(
      and(
        eq(formSubmissions.workspaceId, ctx.workspaceId),
        eq(formSubmissions.formId, form.id),
        eq(formSubmissions.repetitionHash, repetitionHash),
      ),
    )
  return row?.id
}

function isSubmissionOfForm(ctx: Ctx, { formId, submissionId }: SubmissionKey) {
  return and(byId(formSubmissions, ctx, submissionId), eq(formSubmissions.formId, formId))
}

export function toSubmission(row: SubmissionRow): Submission {
  return {
    id: row.id,
    formId: row.formId,
    contactId: row.contactId,
    values: row.values,
    consents: row.consents,
    createdAt: row.createdAt,
  }
}
