import {
  clearNextValues,
  finishRemoval,
  handOnRemoval,
} from '@rapport/core/contacts/custom-fields/clear-custom-field.ts'
import { idOf } from '@rapport/core/kernel/ids.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { keepTrying } from '../keep-trying.ts'
import { ctxOf, type Tools, whileInHand } from '../tools.ts'

/** Takes a removed field's values from every contact, some at a time. Harmless to run twice, or to begin again. */
export function clearCustomField(tools: Tools, job: WorkJob): Promise<void> {
  return whileInHand(tools, job.id, async () => {
    const ctx = ctxOf(tools, job)
    const id = idOf('cfd', job.id)
    do {
      let email: string | undefined = ''
      while (email !== undefined) {
        if (tools.stopping.aborted) return keepTrying(() => handOnRemoval(ctx, id))
        email = await clearNextValues(ctx, id, email)
      }
    } while (!(await finishRemoval(ctx, id)))
  })
}
