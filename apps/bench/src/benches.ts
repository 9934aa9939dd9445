import { bouncing } from './benches/bouncing.ts'
import { busy } from './benches/busy.ts'
import { busyTenants } from './benches/busy-tenants.ts'
import { calling } from './benches/calling.ts'
import { campaigning } from './benches/campaigning.ts'
import { coldStart } from './benches/cold-start.ts'
import { companiesOfContacts } from './benches/companies.ts'
import { creating } from './benches/creating.ts'
import { delivering } from './benches/delivering.ts'
import { distributed } from './benches/distributed.ts'
import { emailing } from './benches/emailing.ts'
import { exporting } from './benches/exporting.ts'
import { hangingReceivers } from './benches/hanging-receivers.ts'
import { hostileParties } from './benches/hostile-parties.ts'
import { importing } from './benches/importing.ts'
import { importingCompanies } from './benches/importing-companies.ts'
import { killing } from './benches/killing.ts'
import { listing } from './benches/listing.ts'
import { manyWebhooks } from './benches/many-webhooks.ts'
import { movingDeals } from './benches/moving-deals.ts'
import { noting } from './benches/noting.ts'
import { peers } from './benches/peers.ts'
import { postgres15 } from './benches/postgres-15.ts'
import { publicForm } from './benches/public-form.ts'
import { graphileWorker, pgBoss } from './benches/queue-peers.ts'
import { reading } from './benches/reading.ts'
import { segments } from './benches/segments.ts'
import { sending } from './benches/sending.ts'
import { soak } from './benches/soak.ts'
import { twoApis } from './benches/two-apis.ts'
import type { Bench } from './measurements.ts'

/** The benches of `pnpm bench`, in this order. */
export const benches: Record<string, Bench> = {
  create: creating,
  read: reading,
  'public-form': publicForm,
  'two-apis': twoApis,
  deals: movingDeals,
  companies: companiesOfContacts,
  notes: noting,
  listings: listing,
  segments,
  export: exporting,
  import: importing,
  'import-companies': importingCompanies,
  campaigns: campaigning,
  send: sending,
  emails: emailing,
  bounces: bouncing,
  webhooks: delivering,
  'many-webhooks': manyWebhooks,
  'hanging-receivers': hangingReceivers,
  busy,
  'busy-tenants': busyTenants,
  'hostile-parties': hostileParties,
  sdk: calling,
  'cold-start': coldStart,
  soak,
  kill: killing,
  peers,
}

/** Benches that download or need other software. They run only if they are named on the command line. */
export const optionalBenches: Record<string, Bench> = {
  'graphile-worker': graphileWorker,
  'pg-boss': pgBoss,
  'postgres-15': postgres15,
  distributed,
}
