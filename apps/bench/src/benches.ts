import { busy } from './benches/busy.ts'
import { campaigning } from './benches/campaigning.ts'
import { coldStart } from './benches/cold-start.ts'
import { creating } from './benches/creating.ts'
import { delivering } from './benches/delivering.ts'
import { exporting } from './benches/exporting.ts'
import { hangingReceivers } from './benches/hanging-receivers.ts'
import { importing } from './benches/importing.ts'
import { killing } from './benches/killing.ts'
import { listing } from './benches/listing.ts'
import { manyWebhooks } from './benches/many-webhooks.ts'
import { movingDeals } from './benches/moving-deals.ts'
import { peers } from './benches/peers.ts'
import { publicForm } from './benches/public-form.ts'
import { reading } from './benches/reading.ts'
import { sending } from './benches/sending.ts'
import { soak } from './benches/soak.ts'
import { twoApis } from './benches/two-apis.ts'
import type { Bench } from './figures.ts'

/** All that `pnpm bench` measures, in this order. */
export const benches: Record<string, Bench> = {
  create: creating,
  read: reading,
  'public-form': publicForm,
  'two-apis': twoApis,
  deals: movingDeals,
  listings: listing,
  export: exporting,
  import: importing,
  campaigns: campaigning,
  send: sending,
  webhooks: delivering,
  'many-webhooks': manyWebhooks,
  'hanging-receivers': hangingReceivers,
  busy,
  'cold-start': coldStart,
  soak,
  kill: killing,
}

/** Those that need more than this repository: measured when they are named, and then alone with what is named. */
export const optionalBenches: Record<string, Bench> = { peers }
