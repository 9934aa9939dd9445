import { requireRole } from '@rapport/core/auth/authenticate.ts'
import { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { trackedActions } from '@rapport/core/db/schema/index.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { optOutContact, undoOptOut } from '@rapport/core/operations/contacts/opt-out-contact.ts'
import { setTrackingConsent } from '@rapport/core/operations/contacts/tracking-consent.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { OptOutInput, OptOutQuery } from '@rapport/core/consent/subscriptions.schema.ts'
import { TrackingConsent, TrackingConsentInput } from '@rapport/core/consent/tracking/tracking-consent.schema.ts'
import { liftSuppression } from '@rapport/core/suppressions/lift-suppression.ts'
import { createSuppression, listSuppressions } from '@rapport/core/suppressions/suppressions.ts'
import {
  Suppression,
  SuppressionInput,
  SuppressionLift,
  SuppressionQuery,
} from '@rapport/core/suppressions/suppressions.schema.ts'
import { z } from 'zod'
import { defineTool, newestFirst, pageInput, reads } from './tool.ts'

const { listId, reason, source, email, createdAfter, createdBefore } = SuppressionQuery.shape
const suppressionList = defineTool({
  name: 'list_suppressions',
  operations: ['suppressions.list'],
  title: 'List suppressions',
  description:
    'Returns statements against email to addresses that match all filters, newest first. The addresses themselves are not stored, so they are not returned. `email` finds those of an address, requires the role MEMBER, and is recorded in the audit log.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({ listId, reason, source, email, createdAfter, createdBefore, ...pageInput }),
  output: PageOf(Suppression),
  async run(ctx, input) {
    if (input.email !== undefined) requireRole(ctx.actor, 'MEMBER')
    return listSuppressions(ctx, { ...input, ...newestFirst })
  },
})

const overwrites = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false }
/** Said again, it is recorded again. */
const records = { ...overwrites, idempotentHint: false }

const suppressAddress = defineTool({
  name: 'suppress_address',
  operations: ['suppressions.create'],
  title: 'Suppress an address',
  description:
    'The workspace sends nothing to the address from now on, on the list or on any, and the subscriptions of its contact end at once. `OPTED_OUT` cannot be lifted: only the person can revert it. Said again, it is recorded again.',
  role: 'MEMBER',
  annotations: records,
  input: z.strictObject(SuppressionInput.shape),
  output: z.object({
    suppression: Suppression,
    isNew: z.boolean().describe('Whether it was not said before.'),
  }),
  run: (ctx, input) => createSuppression(ctx, input),
})

const liftReasons = defineTool({
  name: 'lift_suppression',
  operations: ['suppressions.delete'],
  title: 'Lift a suppression',
  description:
    'Lifts a bounce or a block of an address; subscriptions that only this ended return. What the person said (OPTED_OUT, COMPLAINED) is theirs to revert: the error `opted_out`. A repeated call fails.',
  role: 'ADMIN',
  annotations: overwrites,
  input: z.strictObject({ suppressionId: Id('sup'), ...SuppressionLift.shape }),
  output: z.object({}),
  async run(ctx, { suppressionId, ...lift }) {
    await liftSuppression(ctx, suppressionId, lift)
    return {}
  },
})

const optOut = defineTool({
  name: 'opt_out_contact',
  operations: ['contacts.optOut'],
  title: 'Opt a contact out',
  description:
    'Records that a person wants no email from a list or, without `listId`, from any list, also those to come: what they said by telephone or letter. Only the person can revert it; `undo_opt_out` corrects a mistake within ten minutes. Said again, it is recorded again.',
  role: 'MEMBER',
  annotations: records,
  input: z.strictObject({ contactId: Id('con'), ...OptOutInput.out.shape }),
  output: z.object({ contact: Contact }),
  run: async (ctx, { contactId, ...input }) => ({ contact: await optOutContact(ctx, contactId, input) }),
})

const undo = defineTool({
  name: 'undo_opt_out',
  operations: ['contacts.undoOptOut'],
  title: 'Undo an opt-out',
  description:
    'Undoes `opt_out_contact` with the same `listId`, which was a mistake, within ten minutes: the subscriptions return as they were. The error `opted_out` means that it is older, or that the person opted out themselves. A repeated call fails.',
  role: 'ADMIN',
  annotations: overwrites,
  input: z.strictObject({ contactId: Id('con'), ...OptOutQuery.shape }),
  output: z.object({ contact: Contact }),
  run: async (ctx, { contactId, ...query }) => ({ contact: await undoOptOut(ctx, contactId, query) }),
})

const denyTracking = defineTool({
  name: 'deny_tracking',
  operations: ['contacts.setTrackingConsent'],
  title: 'Deny tracking for a contact',
  description:
    'Records that a person does not want their opens or clicks to be recorded: what they said by telephone or letter. It counts at once, also for emails that were sent before. Only the person can allow it again. `get_contact` returns what they chose. Idempotent.',
  role: 'MEMBER',
  annotations: overwrites,
  input: z.strictObject({
    contactId: Id('con'),
    actions: z
      .array(z.enum(trackedActions))
      .min(1)
      .max(trackedActions.length)
      .default(() => [...trackedActions])
      .describe('What the person denies. Default: both.'),
    note: TrackingConsentInput.shape.note,
  }),
  output: z.object({ trackingConsent: TrackingConsent }),
  async run(ctx, { contactId, actions, note }) {
    const denied = Object.fromEntries(actions.map((action) => [action, 'DENIED' as const]))
    return { trackingConsent: await setTrackingConsent(ctx, contactId, { ...denied, note }) }
  },
})

export const consentTools = [optOut, undo, denyTracking, suppressionList, suppressAddress, liftReasons]
