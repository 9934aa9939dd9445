import type { Db } from '@rapport/core/db/client.ts'
import { wakeRelays } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { claimDeliveries, type ClaimedDelivery } from '@rapport/core/webhooks/deliveries.ts'
import {
  type EndedDelivery,
  type NextDelivery,
  readNextDeliveries,
  settleDeliveries,
} from '@rapport/core/webhooks/settlement.ts'
import { microBatch } from '@rapport/core/kernel/micro-batch.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'

/** Where jobs claim deliveries and hand in their outcomes: those of one moment in one statement. */
export interface DeliveryDesk {
  claim(job: WorkJob): Promise<ClaimedDelivery | undefined>
  /** Answers what waited next for the same webhook, claimed, if the job goes on. Tries until the database is back. */
  settle(delivery: EndedDelivery): Promise<NextDelivery | undefined>
}

export function openDeliveryDesk(db: Db, workerId: string, inHand: ReadonlyMap<string, unknown>): DeliveryDesk {
  async function settle(ended: EndedDelivery[]) {
    let isRepeated = false
    return retryWhileDatabaseDown(async () => {
      const wasTried = isRepeated
      isRepeated = true
      const { next, hasMadeRoom } = await settleDeliveries(db, workerId, { ended, inHand: [...inHand.keys()] })
      if (hasMadeRoom) await wakeRelays(db)
      // The one before may have done it all, and only its answer was lost.
      return wasTried ? readNextDeliveries(db, workerId, { ended, inHand: [...inHand.keys()] }) : next
    })
  }
  return {
    claim: microBatch(async (jobs) => {
      const claimed = await claimDeliveries(db, workerId, jobs)
      return jobs.map(({ id }) => claimed.find(({ uuid }) => uuid === id))
    }),
    settle: microBatch(async (ended) => {
      const next = await settle(ended)
      // Any of them may make any of those: the lanes have been counted.
      return ended.map(({ goesOn }) => (goesOn ? next.shift() : undefined))
    }),
  }
}
