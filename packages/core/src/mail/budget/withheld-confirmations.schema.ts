import { z } from 'zod'
import { defineEvent } from '../../events/event-definition.ts'
import { RecordId } from '../../kernel/ids.ts'
import { Timestamp } from '../../kernel/values/timestamps.ts'

const WithheldConfirmations = z
  .object({
    listId: RecordId('lst')
      .nullable()
      .describe('The list that visitors want to subscribe to. `null` for grants of tracking, which belong to no list.'),
    count: z.number().int().describe('The confirmation emails that wait.'),
    since: Timestamp.describe('When the visitor asked for the oldest of them.'),
  })
  .meta({
    id: 'WithheldConfirmations',
    description:
      'Confirmation emails that wait, because visitors asked for more than the budget of the workspace allows.',
    examples: [{ listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b', count: 12, since: '2026-11-21T06:35:49.123Z' }],
  })

/** Emitted when the first confirmation of a list waits, then at most once an hour while any does. */
export const confirmationsWithheld = defineEvent('confirmations.withheld', WithheldConfirmations)
