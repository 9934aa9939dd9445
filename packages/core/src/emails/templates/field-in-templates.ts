import { and, eq, sql } from 'drizzle-orm'
import { readCustomField, readCustomFieldKeys } from '../../custom-fields/custom-fields.ts'
import { templates, templateVersions } from '../../db/schema/index.ts'
import { conflict } from '../../kernel/errors.ts'
import type { CustomFieldId } from '../../kernel/ids.ts'
import { findTemplateFaults } from '../../rendering/rendering.ts'
import type { Ctx } from '../../request/context.ts'
import { contentColumns } from './template-versions.ts'
import { isCurrentVersion } from './templates.ts'
import { toDataNames } from './variables.ts'

/**
 * Throws `in_use` if a template shows a custom field that is about to be deleted: a template is checked when it is saved,
 * and not again for each email. Not within a transaction, which must not stay open while the check waits for its turn.
 */
export async function requireInNoTemplate(ctx: Ctx, id: CustomFieldId): Promise<void> {
  const { object, key } = await readCustomField(ctx, id)
  if (object !== 'CONTACT') return
  const customFieldKeys = (await readCustomFieldKeys(ctx, object)).filter((other) => other !== key)
  for (const { name, content } of await findTemplatesWithWord(ctx, key)) {
    const names = { customFieldKeys, data: toDataNames(content.variables) }
    const faults = await findTemplateFaults(
      ctx.workspaceId,
      { sources: content, names },
      ctx.settings.renderingDeadlines,
    )
    const [fault] = faults
    if (fault)
      throw conflict('in_use', `The template "${name}" has the custom field "${key}": ${fault.field}: ${fault.message}`)
  }
}

function findTemplatesWithWord(ctx: Ctx, word: string) {
  const { subject, html, text } = templateVersions
  return ctx.db
    .select({ name: templates.name, content: contentColumns })
    .from(templates)
    .innerJoin(templateVersions, isCurrentVersion)
    .where(
      and(
        eq(templates.workspaceId, ctx.workspaceId),
        sql`concat_ws(' ', ${subject}, ${html}, ${text}) ~ ${`\\m${word}\\M`}`,
      ),
    )
    .orderBy(templates.id)
}
