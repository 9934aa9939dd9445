import { z } from 'zod'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, Email, MultiLine, SingleLine, UpdatedAt } from '../kernel/validation.ts'

export const Workspace = z
  .object({
    id: RecordId('wsp'),
    name: z.string().describe('The name of the workspace.'),
    currency: z.string().describe('The currency of all values in the workspace, as an ISO 4217 code such as `EUR`.'),
    fromName: z.string().nullable().describe('The sender name of newsletters. `null` for none.'),
    fromEmail: z
      .string()
      .nullable()
      .describe('The sender address of newsletters. `null` for the address that the operator configured.'),
    postalAddress: z.string().nullable().describe('The postal address in the footer of newsletters. `null` for none.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({ id: 'Workspace', description: 'A workspace: contacts and everything else belong to exactly one.' })
export type Workspace = z.output<typeof Workspace>

const currencies = new Set(Intl.supportedValuesOf('currency'))

export const WorkspaceChange = z
  .strictObject({
    name: SingleLine(200, 1).describe('The name of the workspace.'),
    currency: z
      .string()
      .refine((code) => currencies.has(code), 'must be an ISO 4217 code such as EUR')
      .describe('An ISO 4217 code such as `EUR`. Existing values are not converted.'),
    fromName: SingleLine(200)
      .nullable()
      .transform((name) => name || null)
      .describe('The sender name of newsletters. `null` or empty for none.'),
    fromEmail: Email.nullable().describe(
      'The sender address of newsletters. `null` for the address that the operator configured.',
    ),
    postalAddress: MultiLine(2_000)
      .nullable()
      .transform((address) => address || null)
      .describe('The postal address in the footer of newsletters. `null` or empty for none.'),
  })
  .partial()
  .meta({
    id: 'WorkspaceUpdate',
    description: 'The fields of the workspace to change. Omitted fields stay unchanged.',
    examples: [{ fromName: 'Ada at Engines', postalAddress: '12 Analytical Street, London' }],
  })
export type WorkspaceChange = z.output<typeof WorkspaceChange>
