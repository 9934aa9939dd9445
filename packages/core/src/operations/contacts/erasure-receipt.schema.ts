import { z } from 'zod'
import { Email } from '../../kernel/validation.ts'

export const ErasureReceiptInput = z
  .strictObject({
    emails: z
      .array(Email)
      .max(10, 'must have at most 10 addresses')
      .default([])
      .describe('The addresses of the person, which Rapport no longer knows. Without them, only ids are searched for.'),
  })
  .meta({
    id: 'ErasureReceiptRequest',
    description: 'The addresses to search for, besides the id.',
    examples: [{ emails: ['ada@example.com'] }],
  })
export type ErasureReceiptInput = z.output<typeof ErasureReceiptInput>

const Finding = z.object({
  place: z.string().describe('The table and the column in which something is left.'),
  rows: z.number().describe('In how many rows.'),
  reason: z
    .string()
    .nullable()
    .describe('Why it is left, and until when. `null` for what should not be there, such as a second contact.'),
})

export const ErasureReceipt = z
  .object({
    searchedTables: z.number().describe('The number of tables that were searched.'),
    searchedRedisKeys: z
      .number()
      .nullable()
      .describe('The number of keys of Redis that were searched. `null` over HTTP: they belong to no workspace.'),
    found: z.array(Finding).describe('What is left.'),
    notSearched: z.array(z.string()).describe('What the search cannot read.'),
  })
  .meta({
    id: 'ErasureReceipt',
    description: 'What is left of a person after the deletion of the contact.',
    examples: [
      {
        searchedTables: 52,
        searchedRedisKeys: null,
        found: [
          {
            place: 'audit_entries.subject_id',
            rows: 1,
            reason: 'The audit log names the record that an action changed: until RETENTION_AUDIT_DAYS.',
          },
        ],
        notSearched: [
          'backups: restore one into another database, and run `rapport erasure verify` with its DATABASE_URL',
        ],
      },
    ],
  })
export type ErasureReceipt = z.output<typeof ErasureReceipt>
