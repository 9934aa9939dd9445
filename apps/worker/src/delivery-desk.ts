import type { Db } from '@rapport/core/db.ts'
import { wakeRelays } from '@rapport/core/outbox.ts'
import type { WorkJob } from '@rapport/core/queues.ts'
import { claimDeliveries, type ClaimedDelivery } from '@rapport/core/webhooks/deliveries.ts'
import {
  type EndedDelivery,
  type NextDelivery,
  readNextDeliveries,
  settleDeliveries,
} from '@rapport/core/webhooks/settlement.ts'
import { gather } from '@rapport/core/gather.ts'
import { keepTrying } from './tools.ts'

/** Where jobs claim deliveries and hand in their outcomes: those of one moment in one statement. */
export interface DeliveryDesk {
  claim(job: WorkJob): Promise<ClaimedDelivery | undefined>
  /** Answers what waited next for the same webhook, claimed, as much as the job takes. Tries until the database is back. */
  settle(delivery: EndedDelivery): Promise<NextDelivery[]>
}

export function openDeliveryDesk(
  db: Db,
  { workerId, inHand, mostInHand }: { workerId: string; inHand: ReadonlyMap<string, unknown>; mostInHand: number },
): DeliveryDesk {
  /** Nobody takes two where that would be more than this worker may have in hand. */
  function withinBounds(ended: readonly EndedDelivery[]): EndedDelivery[] {
    let room = mostInHand - inHand.size
    return ended.map((one) => {
      const takes = one.takes === 2 && room <= 0 ? 1 : one.takes
      room -= takes - 1
      return { ...one, takes }
    })
  }

  async function settle(ended: readonly EndedDelivery[]) {
    let isRepeated = false
    return keepTrying(async () => {
      const wasTried = isRepeated
      isRepeated = true
      const { next, hasMadeRoom } = await settleDeliveries(db, workerId, { ended, inHand: [...inHand.keys()] })
      if (hasMadeRoom) await wakeRelays(db)
      // The one before may have done it all, and only its answer was lost.
      return wasTried ? readNextDeliveries(db, workerId, { ended, inHand: [...inHand.keys()] }) : next
    })
  }
  return {
    claim: gather(async (jobs) => {
      const claimed = await claimDeliveries(db, workerId, jobs)
      return jobs.map(({ id }) => claimed.find(({ uuid }) => uuid === id))
    }),
    settle: gather(async (all) => {
      const ended = withinBounds(all)
      const next = await settle(ended)
      // Any of them may make any of those: the lanes have been counted.
      return ended.map(({ takes }) => next.splice(0, takes))
    }),
  }
}
