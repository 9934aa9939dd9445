/** A version of a template is kept while it is the present one, or an email waits for it. */
import { and, eq, getTableColumns, lt, notInArray } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { emails, templateVersions } from '../../db/schema/index.ts'
import type { TemplateId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'

export type TemplateContent = Omit<typeof templateVersions.$inferSelect, 'workspaceId' | 'templateId' | 'version'>
const { workspaceId: _, templateId: __, version: ___, ...columns } = getTableColumns(templateVersions)
export const contentColumns = columns

/** A version never changes. */
const contents = new LRUCache<string, TemplateContent>({
  maxSize: 16_000_000,
  sizeCalculation: ({ subject, html, text, variables }) =>
    subject.length + (html?.length ?? 0) + (text?.length ?? 0) + JSON.stringify(variables).length + 1_000,
})

/** Reads the present version of a template, or one that an email waits for. */
export async function readVersion(ctx: Ctx, templateId: TemplateId, version: number): Promise<TemplateContent> {
  const key = `${ctx.workspaceId} ${templateId} ${version}`
  const known = contents.get(key)
  if (known) return known
  const [content] = await ctx.db
    .select(contentColumns)
    .from(templateVersions)
    .where(
      and(
        eq(templateVersions.workspaceId, ctx.workspaceId),
        eq(templateVersions.templateId, templateId),
        eq(templateVersions.version, version),
      ),
    )
  if (!content) throw new Error(`The template ${templateId} has no version ${version}`)
  contents.set(key, content)
  return content
}

/** Deletes the former versions that no PENDING email needs. The caller has locked the template. */
export async function deleteUnusedVersions(
  ctx: Ctx,
  { id, version }: { id: TemplateId; version: number },
): Promise<void> {
  const needed = ctx.db
    .select({ version: emails.templateVersion })
    .from(emails)
    .where(and(eq(emails.workspaceId, ctx.workspaceId), eq(emails.templateId, id), eq(emails.status, 'PENDING')))
  await ctx.db
    .delete(templateVersions)
    .where(
      and(
        eq(templateVersions.workspaceId, ctx.workspaceId),
        eq(templateVersions.templateId, id),
        lt(templateVersions.version, version),
        notInArray(templateVersions.version, needed),
      ),
    )
}
