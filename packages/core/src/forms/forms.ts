import { isDeepStrictEqual } from 'node:util'
import { and, eq, getTableColumns, isNull, sql } from 'drizzle-orm'
import { textProperties, mappedPropertyNames } from '../contacts/contact-properties.ts'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import { type BaseCtx, type Ctx, inTransaction, requireAtHost } from '../request/context.ts'
import { onConstraint } from '../db/database-errors.ts'
import { invalidField, invalidFields, type Issue, notFound } from '../kernel/errors.ts'
import { hashText } from '../kernel/values/encode-text.ts'
import { toNormalForm } from '../kernel/values/text.ts'
import { timeOfUpdate, timestampNow } from '../kernel/values/timestamps.ts'
import { requireSize } from '../kernel/stored-size.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { type FormId, type ListId, newId } from '../kernel/ids.ts'
import { checkListId } from '../lists/lists.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { type FormField, forms, lists, workspaces } from '../db/schema/index.ts'
import { english, findLanguage } from '../kernel/values/languages.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { isSubscriptionConsent } from './form-consents.ts'
import { findMappingIssues } from './form-mapping.ts'
import { formTexts } from './texts/form-texts.ts'
import type { Form, FormChange, FormFieldInput, FormInput, FormQuery, PublicForm } from './forms.schema.ts'
import { updateStatement } from '../db/json-rows.ts'

export type FormRow = typeof forms.$inferSelect

/** An enabled form with what its list and its workspace add for visitors. */
export interface PublicFormRow extends FormRow {
  accentColor: string | null
  /** Whether the form has a list that visitors can join. */
  hasOpenList: boolean
}

const maxFieldBytes = 32_768

/**
 * Creates a form. Throws `validation_error` for an unknown mapping target or a list that no submission could subscribe
 * to, and `quota_exceeded` if the workspace has the maximum number of forms.
 */
export async function createForm(ctx: Ctx, input: FormInput): Promise<Form> {
  const fields = await checkFields(ctx, input.fields)
  requireSize('fields', fields, maxFieldBytes)
  checkConsentToList({ ...input, fields })
  if (input.listId !== null) await checkListId(ctx, input.listId)
  const { language } = findLanguage([input.locale]) ?? english
  const now = timestampNow()
  const form: FormRow = {
    workspaceId: ctx.workspaceId,
    id: newId('frm'),
    name: input.name,
    fields,
    listId: input.listId,
    tags: input.tags,
    successMessage: input.successMessage ?? formTexts[language].thanks,
    redirectUrl: input.redirectUrl,
    enabled: input.enabled,
    locale: input.locale,
    spamCount: 0,
    deletedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  await inTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'forms', { count: () => countForms(ctx) })
    await ctx.db.insert(forms).values(form).catch(listNotFound)
  })
  return toForm(form)
}

export function countForms(ctx: Ctx): Promise<number> {
  return ctx.db.$count(forms, isLiveFormOfWorkspace(ctx))
}

export async function readForm(ctx: Ctx, id: FormId): Promise<Form> {
  const [row] = await ctx.db.select().from(forms).where(isLiveForm(ctx, id))
  if (!row) throw notFound('Form')
  return toForm(row)
}

export async function listForms(ctx: Ctx, query: FormQuery): Promise<Page<Form>> {
  const page = await readPage<FormRow>(ctx, {
    name: 'forms',
    query,
    ...byCreation<FormRow>(forms),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(forms)
        .where(and(isLiveFormOfWorkspace(ctx), isCreatedInRange(forms, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toForm) }
}

/** Updates the given properties; `fields` replaces all fields. Existing submissions are unchanged. */
export function updateForm(ctx: Ctx, id: FormId, change: FormChange): Promise<Form> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockForm(ctx, id)
    const fields = change.fields ? await checkFields(ctx, change.fields) : current.fields
    requireSize('fields', fields, maxFieldBytes)
    const next: FormRow = { ...current, ...withoutUndefined(change), fields }
    checkConsentToList(next)
    if (change.listId) await checkListId(ctx, change.listId)
    if (isDeepStrictEqual(next, current)) return toForm(current)
    const saved = { ...next, updatedAt: timeOfUpdate(current.updatedAt) }
    await updateRow(ctx.db, saved).catch(listNotFound)
    return toForm(saved)
  })
}

/** Locks a form until the transaction ends. With the mode `key share`, only a deletion waits. */
export async function lockForm(
  ctx: Ctx,
  id: FormId,
  mode: 'no key update' | 'update' | 'key share' = 'no key update',
): Promise<FormRow> {
  const [row] = await ctx.db.select().from(forms).where(isLiveForm(ctx, id)).for(mode)
  if (!row) throw notFound('Form')
  return row
}

/**
 * Deletes a form and its submissions. Contacts created by it remain. The form is hidden immediately; `purgeForms` deletes
 * the rows in small steps, because there may be many.
 */
export async function deleteForm(ctx: Ctx, id: FormId): Promise<void> {
  await inTransaction(ctx, async (ctx) => {
    const { name } = await lockForm(ctx, id, 'update')
    await ctx.db
      .update(forms)
      .set({ deletedAt: timestampNow() })
      .where(byId(forms, ctx, id))
    await audit(ctx, 'form.deleted', { subjectId: id, name })
  })
}

/**
 * Finds an enabled form by id alone, for visitors. Its `locale` is that of its list if it has none. Throws `not_found`
 * for a disabled form.
 */
export async function findPublicForm(base: BaseCtx, id: FormId): Promise<PublicFormRow> {
  const [row] = await base.db
    .select({
      ...getTableColumns(forms),
      locale: sql<string | null>`coalesce(${forms.locale}, ${lists.locale})`,
      hasOpenList: sql<boolean>`coalesce(${lists.publicSignup} = 'OPEN' and ${lists.deletedAt} is null, false)`,
      accentColor: workspaces.accentColor,
    })
    .from(forms)
    .innerJoin(workspaces, eq(workspaces.id, forms.workspaceId))
    .leftJoin(lists, and(eq(lists.workspaceId, forms.workspaceId), eq(lists.id, forms.listId)))
    .where(and(eq(forms.id, id), forms.enabled, isNull(forms.deletedAt), isNull(workspaces.deletedAt)))
  if (!row) throw notFound('Form')
  requireAtHost(base, row.workspaceId)
  return row
}

/** Converts a form to its public shape, without internals such as `mapsTo`. */
export function toPublicForm(row: PublicFormRow): PublicForm {
  return {
    id: row.id,
    name: row.name,
    fields: row.fields.map(({ mapsTo = '', ...field }) => {
      const autocomplete = autocompletes.get(mapsTo)
      return { ...field, ...(autocomplete && { autocomplete }) }
    }),
    successMessage: row.successMessage,
    redirectUrl: row.redirectUrl,
    asksByEmail: row.hasOpenList || row.fields.some(({ purpose }) => purpose === 'TRACKING'),
    accentColor: row.accentColor,
    locale: row.locale,
  }
}

const autocompletes = new Map([
  ['email', 'email'],
  ...mappedPropertyNames.map((name) => [name, textProperties[name].autocomplete] as const),
])

/** A hash of the public form. A submission sends it to name the version that the visitor saw. */
export function computeFormVersion(row: PublicFormRow): string {
  return hashText(JSON.stringify(toPublicForm(row))).slice(0, 22)
}

/** Counts a submission that filled in the honeypot. */
export async function countSpam(ctx: Ctx, id: FormId): Promise<void> {
  await ctx.db
    .update(forms)
    .set({ spamCount: sql`${forms.spamCount} + 1` })
    .where(byId(forms, ctx, id))
}

export function isLiveFormOfWorkspace(ctx: Ctx) {
  return and(eq(forms.workspaceId, ctx.workspaceId), isNull(forms.deletedAt))
}

const isLiveForm = (ctx: Ctx, id: FormId) => and(byId(forms, ctx, id), isNull(forms.deletedAt))

const listNotFound = onConstraint('forms_list_fk', () => invalidField('listId', 'List not found'))

async function checkFields(ctx: Ctx, input: readonly FormFieldInput[]): Promise<FormField[]> {
  const ids = input.map((field) => field.id)
  const repeated = ids.flatMap((id, index): Issue[] =>
    id !== undefined && ids.indexOf(id) < index
      ? [{ path: `fields.${index}.id`, message: 'must be unique in the form' }]
      : [],
  )
  const fields = withIds(input)
  const issues = [...repeated, ...findPurposeIssues(fields), ...(await findMappingIssues(ctx, fields))]
  if (issues.length > 0) throw invalidFields(issues)
  return fields
}

/** A form asks for tracking at most once, and must learn the address that the grant is about. */
function findPurposeIssues(fields: readonly FormField[]): Issue[] {
  const indexes = fields.flatMap(({ purpose }, index) => (purpose === 'TRACKING' ? [index] : []))
  const path = (index = 0) => `fields.${index}.purpose`
  if (indexes.length > 1) return [{ path: path(indexes[1]), message: 'is already the purpose of another field' }]
  const hasEmail = fields.some(({ mapsTo }) => mapsTo === 'email')
  return indexes.length === 1 && !hasEmail
    ? [{ path: path(indexes[0]), message: 'requires a field that maps to email' }]
    : []
}

/** Rejects a list to which the form could never subscribe a contact. */
function checkConsentToList({ fields, listId }: { fields: readonly FormField[]; listId: ListId | null }) {
  const canSubscribe = fields.some(isSubscriptionConsent) && fields.some(({ mapsTo }) => mapsTo === 'email')
  if (listId !== null && !canSubscribe) {
    throw invalidField('listId', 'listId: requires a field of type CONSENT and a field that maps to email')
  }
}

/** Derives missing ids from the start of the label, such as `your-message`; adds a number if the id is taken. */
function withIds(fields: readonly FormFieldInput[]): FormField[] {
  const taken = new Set(fields.flatMap(({ id }) => id ?? []))
  return fields.map(({ id, options, mapsTo, purpose, ...field }) => {
    const unique = id ?? findFreeId(field, taken)
    taken.add(unique)
    return { id: unique, ...field, ...withoutUndefined({ options, mapsTo, purpose }) }
  })
}

function findFreeId({ label, type }: Pick<FormFieldInput, 'label' | 'type'>, taken: ReadonlySet<string>): string {
  const text = type === 'CONSENT' ? 'consent' : toNormalForm(label, 'NFKD').replace(/\p{Mark}/gu, '')
  const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? []
  const start = words
    .slice(0, 4)
    .join('-')
    .replace(/^[^a-z]+/, '')
  const base = start.slice(0, 60) || 'field'
  for (let number = 1; ; number++) {
    const id = number === 1 ? base : `${base}-${number}`
    if (!taken.has(id)) return id
  }
}

function toForm(row: FormRow): Form {
  return {
    id: row.id,
    name: row.name,
    fields: row.fields,
    listId: row.listId,
    tags: row.tags,
    successMessage: row.successMessage,
    redirectUrl: row.redirectUrl,
    enabled: row.enabled,
    locale: row.locale,
    spamCount: row.spamCount,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

const updateRow = updateStatement(forms)
