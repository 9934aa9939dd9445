import { readCustomFields } from '../custom-fields/custom-fields.ts'
import type { Ctx } from '../request/context.ts'
import type { TemplateVariables } from './template-variables.schema.ts'
import { templateFilters } from './template-filters.ts'
import { templateVariables, toCustomVariables } from './template-variables.ts'

/** Lists everything that a template can use. Not paged: an editor needs all of it to complete and check names. */
export async function listTemplateVariables(ctx: Ctx): Promise<TemplateVariables> {
  const customFields = [...(await readCustomFields(ctx, 'CONTACT'))].map(([key, field]) => ({ key, ...field }))
  const variables = [...templateVariables, ...toCustomVariables(customFields)].map(
    ({ name, type, description, exampleValue }) => ({
      kind: 'VARIABLE' as const,
      name,
      type,
      description,
      ...describeUse(name, exampleValue),
    }),
  )
  const filters = templateFilters.map((filter) => ({ kind: 'FILTER' as const, ...filter }))
  return { data: [...variables, ...filters], nextCursor: null }
}

/** The items of a list need a separator. */
function describeUse(name: string, value: unknown): { example: string; output: string } {
  return Array.isArray(value)
    ? { example: `{{ ${name} | join: ", " }}`, output: value.join(', ') }
    : { example: `{{ ${name} }}`, output: String(value) }
}
