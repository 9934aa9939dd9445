import type { Db } from '@rapport/core/db.ts'
import { wakeRelays } from '@rapport/core/outbox.ts'
import {
  claimDeliveries,
  type ClaimedDelivery,
  type EndedDelivery,
  settleDeliveries,
  type WantedDelivery,
} from '@rapport/core/webhooks/deliveries.ts'
import { gather } from '@rapport/core/gather.ts'

/** Where jobs claim deliveries and hand in their outcomes: those of one moment in one statement. */
export interface DeliveryDesk {
  claim(delivery: WantedDelivery): Promise<ClaimedDelivery | undefined>
  /** Answers what waits next for the same webhook, if the job goes on and it is due. */
  settle(delivery: EndedDelivery): Promise<WantedDelivery | undefined>
}

export function openDeliveryDesk(db: Db, workerId: string, inHand: ReadonlyMap<string, unknown>): DeliveryDesk {
  return {
    claim: gather(async (wanted) => {
      const claimed = await claimDeliveries(db, workerId, wanted)
      return wanted.map(({ id }) => claimed.find(({ uuid }) => uuid === id))
    }),
    settle: gather(async (ended) => {
      const { next, hasMadeRoom } = await settleDeliveries(db, workerId, { ended, inHand: [...inHand.keys()] })
      if (hasMadeRoom) await wakeRelays(db)
      // Any of them may make any of those: the lanes have been counted.
      return ended.map(({ goesOn }) => (goesOn ? next.shift() : undefined))
    }),
  }
}
