/** The variables of a template: what is declared, and whether the values of an email fit. */
import { z } from 'zod'
import { grounds, type StoredVariable, variableTypes } from '../../db/schema/index.ts'
import { type Issue, invalidFields, limitIssues } from '../../kernel/errors.ts'
import { requireSize } from '../../kernel/stored-size.ts'
import { suggestForEach } from '../../kernel/suggestion.ts'
import { Verbatim, SingleLine, TimestampInput } from '../../kernel/validation.ts'
import type { TemplateNames } from '../../rendering/known-variables.ts'

const maxItems = 200
const Scalar = z.union([Verbatim(16_384), z.number(), z.boolean(), z.null()])
const Item = z.union([Scalar, z.record(SingleLine(64, 1), Scalar)])

/** A URL that mail programs open: no `javascript:` and no `data:`. */
const WebAddress = Verbatim(2_048).refine((text) => /^https?:\/\/[^\s/]\S*$/i.test(text) && URL.canParse(text))

const valuesOfType: Record<StoredVariable['type'], { schema: z.ZodType; message: string }> = {
  TEXT: { schema: Verbatim(16_384), message: 'must be a text without control characters' },
  NUMBER: { schema: z.number(), message: 'must be a number' },
  BOOLEAN: { schema: z.boolean(), message: 'must be true or false' },
  DATE: {
    schema: z
      .string()
      .max(40)
      .refine((text) => TimestampInput.safeParse(text).success),
    message: 'must be a date such as 2026-11-21, or a timestamp such as 2026-11-21T06:35:49Z',
  },
  URL: { schema: WebAddress, message: 'must be a URL without spaces that starts with https:// or http://' },
  LIST: {
    schema: z.array(Item).max(maxItems),
    message: `must be a list of at most ${maxItems} texts, numbers, or objects of these`,
  },
}

export const Ground = z
  .enum(grounds)
  .describe(
    'Why the email is sent, in the footer and in the export of a person. `REQUEST`: the person asked for it. `CONTRACT`: their account or order needs it. `SECURITY`: it concerns the security of their account. `LEGAL`: the law requires it.',
  )

const variable = {
  name: z
    .string()
    .regex(/^[A-Za-z_]\w{0,63}$/, 'must have 1 to 64 letters, digits and underscores, and not start with a digit')
    .describe('The name: a template shows the value as `{{ data.<name> }}`.'),
  type: z
    .enum(variableTypes)
    .describe(
      'The type of the value. `DATE` is a date or a timestamp. `LIST` has texts, numbers, or objects of these, for the lines of a receipt.',
    ),
  required: z.boolean().describe('Whether every email must have a value.'),
  example: z.union([Scalar, z.array(Item).max(maxItems)]).describe('The value in a preview.'),
}
const variableExample = { name: 'resetUrl', type: 'URL', required: true, example: 'https://shop.example/reset/x' }

export const Variable = z.object(variable).meta({
  id: 'DeclaredVariable',
  description: 'A value that each email brings along in `data`.',
  examples: [variableExample],
})

export const VariableInput = z
  .strictObject({
    ...variable,
    required: variable.required.default(true).describe('Whether every email must have a value. Default: `true`.'),
  })
  .meta({
    id: 'VariableDeclaration',
    description: 'A value that each email brings along in `data`.',
    examples: [variableExample],
  })

/** The variables as the check of a template knows them. */
export const toDataNames = (variables: readonly StoredVariable[]): NonNullable<TemplateNames['data']> =>
  variables.map(({ name, type }) => ({ name, type: type === 'URL' ? 'TEXT' : type }))

/** Throws `validation_error` if two variables have one name, or an example does not fit its type. */
export function checkVariables(variables: readonly StoredVariable[]): void {
  const issues = variables.flatMap(({ name, type, required, example }, index): Issue[] => {
    if (variables.findIndex((other) => other.name === name) < index)
      return [{ path: `variables.${index}.name`, message: 'is declared twice' }]
    const { schema, message } = valuesOfType[type]
    const isValid = example === null ? !required : schema.safeParse(example).success
    return isValid ? [] : [{ path: `variables.${index}.example`, message }]
  })
  if (issues.length > 0) throw invalidFields(issues)
}

export type EmailData = Record<string, unknown>

const maxDataBytes = 16_384

/** Throws `validation_error` if a value of an email is missing, unknown or ill-typed, at `data.<name>`. */
export function checkData(variables: readonly StoredVariable[], data: EmailData): void {
  const issues = findIssues(variables, data)
  if (issues.length > 0) throw invalidFields(limitIssues(issues))
  requireSize('data', data, maxDataBytes)
}

function findIssues(variables: readonly StoredVariable[], data: EmailData): Issue[] {
  const declared = variables.map(({ name }) => name)
  const names = new Set(declared)
  const unknown = Object.keys(data).filter((name) => !names.has(name))
  const messages = suggestForEach('is not declared by the template', unknown, declared)
  const issues = unknown.map((name, index) => ({ path: `data.${name}`, message: messages[index] ?? '' }))
  for (const { name, type, required } of variables) {
    const value = Object.hasOwn(data, name) ? (data[name] ?? null) : null
    const { schema, message } = valuesOfType[type]
    if (value === null && required) issues.push({ path: `data.${name}`, message: 'is required' })
    else if (value !== null && !schema.safeParse(value).success) issues.push({ path: `data.${name}`, message })
  }
  return issues
}

/** The values for the template: a variable without a value is empty. */
export const toValues = (variables: readonly StoredVariable[], data: EmailData): EmailData =>
  Object.fromEntries(variables.map(({ name }) => [name, Object.hasOwn(data, name) ? data[name] : null]))

export const toExamples = (variables: readonly StoredVariable[]): EmailData =>
  Object.fromEntries(variables.map(({ name, example }) => [name, example]))
