import { readCustomFieldKeys } from '../custom-fields/custom-fields.ts'
import { AppError } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'
import type { TemplateNames } from './known-variables.ts'
import { findTemplateFaults } from './rendering.ts'
import { type PartialTemplateSources, templateFields } from './template-sources.ts'

interface CheckOptions {
  code?: 'validation_error' | 'wrong_state'
  data?: TemplateNames['data']
}

/**
 * Checks the syntax of templates and the names of their variables, filters and custom fields. Throws an error with an
 * issue for each fault: `validation_error` when templates are saved, `wrong_state` when a saved campaign is sent.
 */
export async function checkTemplates(
  ctx: Ctx,
  sources: PartialTemplateSources,
  { code = 'validation_error', data }: CheckOptions = {},
): Promise<void> {
  if (!templateFields.some((field) => sources[field])) return
  const customFieldKeys = await readCustomFieldKeys(ctx, 'CONTACT')
  const faults = await findTemplateFaults(
    ctx.workspaceId,
    { sources, names: { customFieldKeys, data } },
    ctx.settings.renderingDeadlines,
  )
  const [first] = faults
  if (!first) return
  const issues = faults.map(({ field, message }) => ({ path: field, message }))
  throw new AppError(code, `${first.field}: ${first.message}`, { issues })
}
