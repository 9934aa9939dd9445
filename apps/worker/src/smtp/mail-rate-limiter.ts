import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '@rapport/core/db/client.ts'
import { reserveMailSlots, reserveSingleMailSlots } from '@rapport/core/mail/mail-rate.ts'

/** The number of mails that are claimed, sent and recorded together. A crash interrupts at most one group per batch. */
const defaultGroupSize = 20

export interface MailRateLimiter {
  groupSize: number
  /** Waits until the `count` mails of a group of a campaign may be sent. */
  wait(count: number): Promise<void>
  /** Waits until `count` single mails may be sent. They do not wait for campaigns. */
  waitForSingles(count: number): Promise<void>
}

/** Limits the mails of all workers to MAIL_RATE per second. Each group reserves its sending time in the database. */
export function createMailRateLimiter(db: Db, perSecond: number | undefined, stopping: AbortSignal): MailRateLimiter {
  if (perSecond === undefined)
    return { groupSize: defaultGroupSize, wait: async () => {}, waitForSingles: async () => {} }
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping }).catch(() => {})
  return {
    // A group has at most a quarter of the mails of one second: larger groups would be sent in bursts.
    groupSize: Math.max(1, Math.min(defaultGroupSize, Math.floor(perSecond / 4))),
    async wait(count) {
      await pause(await reserveMailSlots(db, count, perSecond))
    },
    async waitForSingles(count) {
      await pause(await reserveSingleMailSlots(db, count, perSecond))
    },
  }
}
