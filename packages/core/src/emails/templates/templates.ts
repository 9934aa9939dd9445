import { isDeepStrictEqual } from 'node:util'
import { and, eq } from 'drizzle-orm'
import { audit } from '../../audit/audit.ts'
import { requireSenderOf } from '../../campaigns/campaigns.ts'
import { emails, templates, templateVersions } from '../../db/schema/index.ts'
import { checkNewSender } from '../../domains/senders.ts'
import { conflict, invalidField, notFound } from '../../kernel/errors.ts'
import { newId, type TemplateId } from '../../kernel/ids.ts'
import { requireSize } from '../../kernel/stored-size.ts'
import { timeOfUpdate, timestampNow } from '../../kernel/values/timestamps.ts'
import { withoutUndefined } from '../../kernel/without-undefined.ts'
import { requireQuota } from '../../quotas/require-quota.ts'
import { checkTemplates } from '../../rendering/check-templates.ts'
import { byId } from '../../request/by-id.ts'
import { containsText } from '../../request/contains-text.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { byCreation, type Page, readPage } from '../../request/paging.ts'
import { isCreatedInRange } from '../../request/time-range.ts'
import { holdEmails } from '../pending-emails.ts'
import { contentColumns, deleteUnusedVersions, type TemplateContent } from './template-versions.ts'
import type { Template, TemplateChange, TemplateInput, TemplateQuery, TemplateSummary } from './templates.schema.ts'
import { checkVariables, toDataNames } from './variables.ts'

export type TemplateRow = typeof templates.$inferSelect

/** Creates a template. Throws `validation_error` with line and column if it cannot be rendered. */
export async function createTemplate(ctx: Ctx, input: TemplateInput): Promise<Template> {
  await checkNewTemplate(ctx, input)
  return storeTemplate(ctx, input)
}

/** Checks a new template. Not within a transaction, which must not stay open while the check waits for its turn. */
export async function checkNewTemplate(ctx: Ctx, input: TemplateInput): Promise<void> {
  await checkContent(ctx, toContent(input))
}

/** The second half of `createTemplate`. */
export async function storeTemplate(ctx: Ctx, { name, ...input }: TemplateInput): Promise<Template> {
  const content = toContent(input)
  await checkNewSender(ctx, content.fromEmail)
  const now = timestampNow()
  const row: TemplateRow = {
    workspaceId: ctx.workspaceId,
    id: newId('tpl'),
    name,
    version: 1,
    status: 'ACTIVE',
    pauseReason: null,
    activatedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  await inTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'templates', { count: () => countTemplates(ctx) })
    await ctx.db.insert(templates).values(row)
    await insertVersion(ctx, row, content)
    await audit(ctx, 'template.created', { subjectId: row.id, name, ground: content.ground })
  })
  return toTemplate(row, content)
}

function toContent(input: Omit<TemplateInput, 'name'>): TemplateContent {
  return {
    subject: input.subject,
    html: input.html || null,
    text: input.text || null,
    variables: input.variables ?? [],
    ground: input.ground,
    fromName: input.fromName ?? null,
    fromEmail: input.fromEmail ?? null,
    replyTo: input.replyTo ?? null,
  }
}

const maxVariableBytes = 32_768

async function checkContent(ctx: Ctx, content: TemplateContent): Promise<void> {
  if (!content.html && !content.text) throw invalidField('html', 'html: is required, unless there is text')
  requireSize('variables', content.variables, maxVariableBytes)
  checkVariables(content.variables)
  await checkTemplates(ctx, content, { data: toDataNames(content.variables) })
}

async function insertVersion(ctx: Ctx, { id, version }: TemplateRow, content: TemplateContent): Promise<void> {
  await ctx.db.insert(templateVersions).values({ workspaceId: ctx.workspaceId, templateId: id, version, ...content })
}

export function countTemplates(ctx: Ctx): Promise<number> {
  return ctx.db.$count(templates, eq(templates.workspaceId, ctx.workspaceId))
}

/** Reads one template. */
export async function readTemplate(ctx: Ctx, id: TemplateId): Promise<Template> {
  const { template, content } = await findTemplate(ctx, id)
  return toTemplate(template, content)
}

/** Reads one template without its bodies, as events show it. */
export async function readTemplateSummary(ctx: Ctx, id: TemplateId): Promise<TemplateSummary> {
  const { html: _, text: __, ...summary } = await readTemplate(ctx, id)
  return summary
}

interface FoundTemplate {
  template: TemplateRow
  content: TemplateContent
}

/** Joins a template with its current version. */
export const isCurrentVersion = and(
  eq(templateVersions.workspaceId, templates.workspaceId),
  eq(templateVersions.templateId, templates.id),
  eq(templateVersions.version, templates.version),
)

/** Lists a page of the workspace's templates, without their bodies. */
export async function listTemplates(ctx: Ctx, query: TemplateQuery): Promise<Page<TemplateSummary>> {
  const { html: _, text: __, ...columns } = contentColumns
  type Row = TemplateRow & { content: Omit<TemplateContent, 'html' | 'text'> }
  const page = await readPage<Row>(ctx, {
    name: 'templates',
    query,
    ...byCreation<Row>(templates),
    read: async ({ after, orderBy, limit }) => {
      const rows = await ctx.db
        .select({ template: templates, content: columns })
        .from(templates)
        .innerJoin(templateVersions, isCurrentVersion)
        .where(
          and(
            eq(templates.workspaceId, ctx.workspaceId),
            query.status && eq(templates.status, query.status),
            query.search === undefined ? undefined : containsText(templates.name, query.search),
            isCreatedInRange(templates, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit)
      return rows.map(({ template, content }) => ({ ...template, content }))
    },
  })
  return { ...page, data: page.data.map(({ content, ...template }) => toSummary(template, content)) }
}

/**
 * Updates the fields in the change. Another content is a new version: emails that were accepted before are sent as
 * accepted. The emails that wait are parked while it is PAUSED. A no-op update writes nothing.
 */
export async function updateTemplate(ctx: Ctx, id: TemplateId, change: TemplateChange): Promise<Template> {
  return storeTemplateChange(ctx, await checkTemplateChange(ctx, id, change))
}

interface CheckedChange extends Pick<TemplateChange, 'name' | 'status'> {
  before: FoundTemplate
  /** With the change. */
  content: TemplateContent
}

/** Checks a change of a template. Not within a transaction, which must not stay open while the check waits for its turn. */
export async function checkTemplateChange(
  ctx: Ctx,
  id: TemplateId,
  { name, status, ...change }: TemplateChange,
): Promise<CheckedChange> {
  await checkNewSender(ctx, change.fromEmail)
  const before = await findTemplate(ctx, id)
  const content = mergeContent(before.content, change)
  if (!isDeepStrictEqual(content, before.content)) await checkContent(ctx, content)
  return { name, status, before, content }
}

/**
 * The second half of `updateTemplate`. Throws `wrong_state` if the template has another content since the check, and as
 * `requireSender` if it becomes ACTIVE and the workspace may not send from its sender: what waits would fail.
 */
export function storeTemplateChange(ctx: Ctx, { name, status, before, content }: CheckedChange): Promise<Template> {
  const { id, version } = before.template
  return inTransaction(ctx, async (ctx) => {
    const current = await lockTemplate(ctx, id)
    if (current.version !== version) throw conflict('wrong_state', 'The template was changed meanwhile: try again')
    const isNewContent = !isDeepStrictEqual(content, before.content)
    const isActivated = status === 'ACTIVE' && current.status === 'PAUSED'
    const next: TemplateRow = {
      ...current,
      ...withoutUndefined({ name, status }),
      version: current.version + Number(isNewContent),
      ...(status !== undefined && status !== current.status && { pauseReason: null }),
      ...(isActivated && { activatedAt: timestampNow() }),
    }
    if (isDeepStrictEqual(next, current)) return toTemplate(current, before.content)
    if (isActivated) await requireSenderOf(ctx, content)
    const saved = { ...next, updatedAt: timeOfUpdate(current.updatedAt) }
    await saveTemplate(ctx, saved)
    if (isNewContent) {
      await insertVersion(ctx, saved, content)
      await deleteUnusedVersions(ctx, saved)
    }
    if (saved.status !== current.status) await holdEmails(ctx, id, saved.status)
    await audit(ctx, 'template.updated', {
      subjectId: id,
      version: saved.version,
      ground: content.ground,
      status: saved.status,
    })
    return toTemplate(saved, content)
  })
}

function mergeContent(current: TemplateContent, change: Omit<TemplateChange, 'name' | 'status'>): TemplateContent {
  return toContent({ ...current, ...withoutUndefined(change) })
}

/** Reads a template with its content. Throws `not_found`. */
async function findTemplate(ctx: Ctx, id: TemplateId): Promise<FoundTemplate> {
  const [found] = await ctx.db
    .select({ template: templates, content: contentColumns })
    .from(templates)
    .innerJoin(templateVersions, isCurrentVersion)
    .where(byId(templates, ctx, id))
  if (!found) throw notFound('Template')
  return found
}

/** Locks a template that is about to be changed: no email is accepted meanwhile. */
export async function lockTemplate(ctx: Ctx, id: TemplateId): Promise<TemplateRow> {
  const [row] = await ctx.db
    .select()
    .from(templates)
    .where(byId(templates, ctx, id))
    .for('update')
  if (!row) throw notFound('Template')
  return row
}

async function saveTemplate(ctx: Ctx, row: TemplateRow): Promise<void> {
  const { workspaceId: _, id, createdAt: __, ...columns } = row
  await ctx.db
    .update(templates)
    .set(columns)
    .where(byId(templates, ctx, id))
}

/** Deletes a template. Throws `in_use` while an email from it is PENDING. */
export function deleteTemplate(ctx: Ctx, id: TemplateId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const { name } = await lockTemplate(ctx, id)
    const isPending = and(
      eq(emails.workspaceId, ctx.workspaceId),
      eq(emails.templateId, id),
      eq(emails.status, 'PENDING'),
    )
    const pending = await ctx.db.$count(emails, isPending)
    if (pending > 0) throw conflict('in_use', `${pending} emails from this template are PENDING`, { pending })
    await ctx.db.delete(templates).where(byId(templates, ctx, id))
    await audit(ctx, 'template.deleted', { subjectId: id, name })
  })
}

function toTemplate(row: TemplateRow, content: TemplateContent): Template {
  return { ...toSummary(row, content), html: content.html, text: content.text }
}

function toSummary(row: TemplateRow, content: Omit<TemplateContent, 'html' | 'text'>): TemplateSummary {
  return {
    id: row.id,
    name: row.name,
    subject: content.subject,
    variables: content.variables,
    ground: content.ground,
    fromName: content.fromName,
    fromEmail: content.fromEmail,
    replyTo: content.replyTo,
    version: row.version,
    status: row.status,
    pauseReason: row.pauseReason,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
