import { readCustomFields } from '../custom-fields/custom-fields.ts'
import type { Ctx } from '../request/context.ts'
import type { Recipient } from './recipient.ts'
import { templateVariables, toCustomVariables } from './template-variables.ts'

/** Creates the contact of a preview, with the example value of each variable and of each custom field. */
export async function createExampleRecipient(ctx: Ctx): Promise<Recipient> {
  const customFields = [...(await readCustomFields(ctx, 'CONTACT'))].map(([key, field]) => ({ key, ...field }))
  return {
    ...(collectExamples('contact.', templateVariables) as unknown as Omit<Recipient, 'customFieldValues'>),
    customFieldValues: collectExamples(
      'contact.customFieldValues.',
      toCustomVariables(customFields),
    ) as Recipient['customFieldValues'],
  }
}

function collectExamples(prefix: string, variables: typeof templateVariables): Record<string, unknown> {
  const own = variables.filter(({ name }) => name.startsWith(prefix))
  return Object.fromEntries(own.map(({ name, exampleValue }) => [name.slice(prefix.length), exampleValue]))
}
