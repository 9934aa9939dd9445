/** What the request and the response of a batch say of each entry: the schemas that batches of all resources share. */
import { z } from 'zod'

/** Each entry is validated by itself, so that an invalid one does not reject the others. OpenAPI shows its schema. */
export const batchEntries = (many: string, input: z.ZodType) =>
  z
    .array(z.unknown().meta({ $ref: `#/components/schemas/${input.meta()?.id}Input` }))
    .min(1)
    .max(100)
    .describe(`1 to 100 ${many}, in the order of the results.`)

/** What becomes of an entry whose record exists. `keys` names what identifies one of the resource `many`. */
export const onConflict = (one: string, { many, keys }: { many: string; keys: string }) =>
  z
    .enum(['fail', 'skip', 'update'])
    .default('fail')
    .describe(
      `What to do if a ${one} with this ${keys} already exists: \`fail\` reports \`already_exists\`, \`skip\` returns the ${one} unchanged, \`update\` sets the given fields like \`PUT /${many}\`.`,
    )

interface FailureOptions<Code extends string, Details extends z.ZodRawShape> {
  codes: readonly [Code, ...Code[]]
  /** What did not happen for the entry. */
  status?: string
  /** What `issues` names. */
  issues: string
  /** More about some of the codes. */
  details: Details
}

/** The schema of an entry that failed. `name` is that of the resource, such as `Contact`. */
export function batchFailure<Code extends string, Details extends z.ZodRawShape>(
  name: string,
  { codes, status = 'Nothing was written for this entry.', issues, details }: FailureOptions<Code, Details>,
) {
  const issue = z.object({
    path: z.string().describe('The field.'),
    message: z.string().describe('What is wrong with it.'),
  })
  return z
    .object({
      status: z.literal('FAILED').describe(status),
      code: z.enum(codes).describe('What is wrong, in the words of `code` in error responses.'),
      message: z.string().describe('What is wrong, in words.'),
      issues: z.array(issue).optional().describe(issues),
      ...details,
    })
    .meta({ id: `${name}BatchFailure`, description: 'The entry failed. It does not affect the other entries.' })
}

/** The schema of an entry of a record that `onConflict` may skip. `property` is the name of the record in it. */
export function batchSuccess<Property extends string, Record extends z.ZodType>(
  name: string,
  { property, record }: { property: Property; record: Record },
) {
  return z
    .object({
      status: z
        .enum(['CREATED', 'UPDATED', 'UNCHANGED', 'SKIPPED'])
        .describe(`\`UNCHANGED\` if the ${property} already had these values; that emits no event.`),
      [property]: record,
    } as { status: z.ZodEnum<{ [Status in 'CREATED' | 'UPDATED' | 'UNCHANGED' | 'SKIPPED']: Status }> } & {
      [Name in Property]: Record
    })
    .meta({
      id: `${name}BatchSuccess`,
      description: 'The entry was written, or skipped because of `onConflict: skip`.',
    })
}

interface Entries<Success, Failure> {
  success: Success
  failure: Failure
  /** A result of each kind. */
  examples: readonly object[]
}

/** The schema of the response: one result for each entry. */
export function batchResults<
  Success extends z.core.$ZodTypeDiscriminable,
  Failure extends z.core.$ZodTypeDiscriminable,
>(name: string, { success, failure, examples }: Entries<Success, Failure>) {
  return z
    .object({
      results: z
        .array(z.discriminatedUnion('status', [success, failure]))
        .describe('One result for each entry, in order.'),
    })
    .meta({
      id: `${name}BatchResults`,
      description: 'The result of each entry of a batch.',
      examples: [{ results: examples }],
    })
}
