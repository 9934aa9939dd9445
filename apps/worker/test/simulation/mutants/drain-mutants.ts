import type { Mutant } from './mutant.ts'

const claims = 'packages/core/src/work/claims.ts'
const drain = 'packages/core/src/webhooks/drain/drain.ts'
const take = 'packages/core/src/webhooks/drain/take-deliveries.ts'
const outcomes = 'packages/core/src/webhooks/drain/record-outcomes.ts'
const recovery = 'packages/core/src/webhooks/drain/recover-drain.ts'

/** Guards of the claim of a drain. */
export const drainMutants: readonly Mutant[] = [
  {
    name: 'a drain is claimed although another job owns it',
    file: claims,
    search: '\n    where former.token is null\n',
    replacement: '\n',
    scenario: 'drain',
    seed: 3,
  },
  {
    name: 'a take reads deliveries that are in flight',
    file: take,
    search: '          and id <> all(${param.inFlight})\n',
    replacement: '',
    scenario: 'drain',
    seed: 1,
  },
  {
    name: 'a job goes on after its claim was recovered',
    file: drain,
    search: 'return isOwner ? takeNext(',
    replacement: 'return isOwner || true ? takeNext(',
    scenario: 'drain',
    seed: 10,
  },
  {
    name: 'a take does not write its deliveries',
    file: take,
    search: 'in_flight = ids\n',
    replacement: "in_flight = '{}'\n",
    scenario: 'drain',
    seed: 9,
  },
  {
    name: 'a release of a drain does not ask for its token',
    file: claims,
    search: 'db.delete(work).where(isOwned(claim))',
    replacement: 'db.delete(work).where(isWorkOf(claim))',
    scenario: 'drain',
    seed: 9,
  },
  {
    name: 'late outcomes of deliveries are not recorded',
    file: outcomes,
    search: "and (d.status = 'PENDING' or d.status = 'INTERRUPTED' and d.worker_id = ${param.workerId})",
    replacement: "and d.status = 'PENDING' and ${param.workerId} is not null",
    scenario: 'drain',
    seed: 4,
  },
  {
    name: 'recovery ends a drain without its deliveries',
    file: recovery,
    search: "update deliveries d set status = 'INTERRUPTED', error = ${error},",
    replacement: "update deliveries d set status = 'PENDING', error = ${error},",
    scenario: 'drain',
    seed: 9,
  },
]
