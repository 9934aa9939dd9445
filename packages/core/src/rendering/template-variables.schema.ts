import { z } from 'zod'
import { templateTypes } from './template-variables.ts'

export const TemplateVariable = z
  .object({
    kind: z.enum(['VARIABLE', 'FILTER']).describe('Whether it is a variable or a filter.'),
    name: z.string().describe('The name, as in a template: `contact.firstName`, `upcase`.'),
    type: z
      .enum(templateTypes)
      .describe('The type of the value, or of the result of the filter. `ANY` if it depends on the input.'),
    description: z.string().describe('What it is, in a sentence or two.'),
    example: z.string().describe('How to use it in a template.'),
    output: z.string().describe('What `example` is rendered to for an example contact.'),
  })
  .meta({
    id: 'TemplateVariable',
    description: 'A variable or a filter of campaign templates.',
    examples: [
      {
        kind: 'VARIABLE',
        name: 'contact.firstName',
        type: 'TEXT',
        description: 'The first name. Empty if it is unknown.',
        example: '{{ contact.firstName }}',
        output: 'Ada',
      },
    ],
  })
export type TemplateVariable = z.output<typeof TemplateVariable>

export const TemplateVariables = z
  .object({
    data: z.array(TemplateVariable).describe('All variables, and then all filters.'),
    nextCursor: z.null().describe('Always `null`: the response is complete.'),
  })
  .meta({ id: 'TemplateVariables', description: 'What a template can use, on one page.' })
export type TemplateVariables = z.output<typeof TemplateVariables>
