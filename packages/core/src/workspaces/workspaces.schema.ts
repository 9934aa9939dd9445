import { z } from 'zod'
import { RecordId } from '../kernel/ids.ts'
import { Email, MultiLine, SingleLine, Timestamp } from '../kernel/validation.ts'

export const Workspace = z
  .object({
    id: RecordId('wsp'),
    name: z.string(),
    currency: z.string().meta({ description: 'ISO 4217 code' }),
    fromName: z.string().nullable(),
    fromEmail: z.string().nullable(),
    postalAddress: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Workspace' })
export type Workspace = z.output<typeof Workspace>

const currencies = new Set(Intl.supportedValuesOf('currency'))

export const WorkspaceChange = z
  .strictObject({
    name: SingleLine(200, 1),
    currency: z.string().refine((code) => currencies.has(code), 'must be an ISO 4217 code such as EUR'),
    fromName: SingleLine(200)
      .nullable()
      .transform((name) => name || null),
    fromEmail: Email.nullable(),
    postalAddress: MultiLine(2_000)
      .nullable()
      .transform((address) => address || null),
  })
  .partial()
  .meta({ examples: [{ fromName: 'Ada at Engines', postalAddress: '12 Analytical Street, London' }] })
export type WorkspaceChange = z.output<typeof WorkspaceChange>
