import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '@rapport/core/db/client.ts'
import { reserveMailSlots } from '@rapport/core/mail/mail-rate.ts'

/** So many mails are claimed, sent and recorded together: few, as a kill interrupts those in hand. */
const defaultGroupSize = 20

export interface MailRateLimiter {
  groupSize: number
  /** Waits until `count` mails may leave. */
  wait(count: number): Promise<void>
}

/** Keeps MAIL_RATE over all workers: each group waits for its place in a line that the database keeps. */
export function createMailRateLimiter(db: Db, perSecond: number | undefined, stopping: AbortSignal): MailRateLimiter {
  if (perSecond === undefined) return { groupSize: defaultGroupSize, wait: async () => {} }
  return {
    // A quarter of a second's worth at a time, so that a slow pace is not kept in bursts.
    groupSize: Math.max(1, Math.min(defaultGroupSize, Math.floor(perSecond / 4))),
    async wait(count) {
      const waitMs = await reserveMailSlots(db, count, perSecond)
      await sleep(waitMs, undefined, { signal: stopping }).catch(() => {})
    },
  }
}
