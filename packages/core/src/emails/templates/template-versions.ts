/** A version of a template is kept while it is the present one, or an email waits for it. */
import { and, eq, lt, notInArray } from 'drizzle-orm'
import { emails, templateVersions } from '../../db/schema/index.ts'
import type { TemplateId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'

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
