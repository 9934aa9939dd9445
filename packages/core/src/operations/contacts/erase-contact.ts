/**
 * Erases the traces of a deleted contact, step by step: its events, emails, deliveries and the like outlive its row.
 * Each step is one short transaction that also stores the position, so an interrupted worker continues there.
 */
import { redactRecipients } from '../../campaigns/contact/redact-recipients.ts'
import { finishErasure, lockErasure, saveErasure } from '../../contacts/erasures.ts'
import { hasEventToRedact, redactEventsOfPerson, redactUnassignedEvents } from '../../events/redact-events.ts'
import { eraseUnassignedSubmissions } from '../../forms/erase-submissions.ts'
import { redactImports } from '../../imports/redact-imports.ts'
import type { EraseStep } from '../../kernel/erased-person.ts'
import { idOf } from '../../kernel/ids.ts'
import { eraseMails } from '../../mail/erase-mails.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { redactDeliveries, waitForRequests } from '../../webhooks/redact-deliveries.ts'

/** In this order: the first step finds the former addresses that the others need. */
const steps = [
  { name: 'events', run: redactEventsOfPerson },
  { name: 'unassigned events', run: redactUnassignedEvents },
  { name: 'mails', run: eraseMails },
  { name: 'submissions', run: eraseUnassignedSubmissions },
  { name: 'imports', run: redactImports },
  { name: 'recipients', run: redactRecipients },
  { name: 'requests', run: waitForRequests },
  { name: 'deliveries', run: redactDeliveries },
] as const satisfies { name: string; run: EraseStep<Ctx> }[]

/**
 * Does the next step of an erasure, by the UUID of the contact. Returns `waiting` if other jobs must finish first, and
 * `done` if nothing is left or there is no such erasure.
 */
export function eraseNextStep(ctx: Ctx, uuid: string): Promise<'continue' | 'waiting' | 'done'> {
  const id = idOf('con', uuid)
  return inTransaction(ctx, async (ctx) => {
    const erasure = await lockErasure(ctx, id)
    if (!erasure) return 'done'
    const index = Math.max(
      steps.findIndex(({ name }) => name === erasure.step),
      0,
    )
    const step = steps[index] ?? steps[0]
    const { after, formerEmails = [], isWaiting = false } = await step.run(ctx, erasure, erasure.after)
    if (isWaiting) {
      await saveErasure(ctx, id, { ...erasure, after: after ?? erasure.after })
      return 'waiting'
    }
    const next = after === undefined ? steps[index + 1] : step
    if (!next && !(await hasEventToRedact(ctx, erasure))) {
      await finishErasure(ctx, id)
      return 'done'
    }
    // Without a next step, a transaction that began before the deletion has emitted an event: all steps run again.
    const emails = [...new Set([...erasure.emails, ...formerEmails.map((email) => email.toLowerCase())])]
    await saveErasure(ctx, id, { ...erasure, emails, step: (next ?? steps[0]).name, after: after ?? '' })
    return 'continue'
  })
}
