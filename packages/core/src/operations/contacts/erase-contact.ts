/**
 * Erases what outlives the row of a deleted contact: its events, their deliveries, and its errors as a recipient. Each
 * step is one or more short transactions that also store the position, so an interrupted worker continues there.
 */
import { redactRecipients } from '../../campaigns/redact-recipients.ts'
import { finishErasure, lockErasure, saveErasure } from '../../contacts/erasures.ts'
import { redactEvents } from '../../events/redact-events.ts'
import type { EraseStep } from '../../kernel/erase-step.ts'
import { idOf } from '../../kernel/ids.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { redactDeliveries } from '../../webhooks/redact-deliveries.ts'

/** Events come first: requests that start later contain the redacted record. */
const steps = [
  { name: 'events', run: redactEvents },
  { name: 'recipients', run: redactRecipients },
  { name: 'deliveries', run: redactDeliveries },
] as const satisfies { name: string; run: EraseStep<Ctx> }[]

/**
 * Does the next part of an erasure, by the UUID of the contact. Returns `retry` if other jobs must finish first, and
 * `done` if nothing is left or there is no such erasure.
 */
export function eraseNextStep(ctx: Ctx, uuid: string): Promise<'continue' | 'retry' | 'done'> {
  const id = idOf('con', uuid)
  return inTransaction(ctx, async (ctx) => {
    const erasure = await lockErasure(ctx, id)
    if (!erasure) return 'done'
    const index = steps.findIndex(({ name }) => name === erasure.step)
    const step = steps[index] ?? steps[0]
    const { after, shouldRetry = false } = await step.run(ctx, [id, ...erasure.mergedIds], erasure.after)
    if (shouldRetry) return 'retry'
    const next = after === undefined ? steps[steps.indexOf(step) + 1] : step
    if (!next) {
      await finishErasure(ctx, id)
      return 'done'
    }
    await saveErasure(ctx, id, { step: next.name, after: after ?? '' })
    return 'continue'
  })
}
