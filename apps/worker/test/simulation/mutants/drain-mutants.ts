import type { Mutant } from './mutant.ts'

const backlog = 'packages/core/src/webhooks/drain/backlog-claim.ts'
const outcomes = 'packages/core/src/webhooks/drain/record-outcomes.ts'
const recovery = 'packages/core/src/operations/recovery/recover-claims.ts'

/** Guards of the claim of a backlog. */
export const drainMutants: readonly Mutant[] = [
  {
    name: 'a backlog is claimed although another job owns it',
    file: backlog,
    search: 'where drain.token is null and (',
    replacement: 'where (',
    scenario: 'drain',
    seed: 1,
  },
  {
    name: 'a take reads deliveries that are in flight',
    file: backlog,
    search: "and status = 'PENDING' and id <> all(${param('inFlight')}::uuid[]) and exists",
    replacement: "and status = 'PENDING' and exists",
    scenario: 'drain',
    seed: 6,
  },
  {
    name: 'a job goes on after its claim was recovered',
    file: backlog,
    search: 'return isOwner ? takeOldest(db, claim, { ...step, ended: recorded, token }) : undefined',
    replacement: 'return isOwner || true ? takeOldest(db, claim, { ...step, ended: recorded, token }) : undefined',
    scenario: 'drain',
    seed: 131,
  },
  {
    name: 'a take does not write its deliveries',
    file: backlog,
    search: 'delivery_ids = ids,',
    replacement: "delivery_ids = '{}',",
    scenario: 'drain',
    seed: 31,
  },
  {
    name: 'the former token is forgotten after a lost response',
    file: backlog,
    search: 'claim.tokens = [...claim.tokens, token]',
    replacement: 'claim.tokens = [token]',
    scenario: 'drain',
    seed: 171,
  },
  {
    name: 'a release of a backlog does not ask for its token',
    file: backlog,
    search: 'and token = any(${sql.param(claim.tokens)}::uuid[])`)',
    replacement: '`)',
    scenario: 'drain',
    seed: 63,
  },
  {
    name: 'late outcomes of deliveries are not recorded',
    file: outcomes,
    search: "and (d.status = 'PENDING' or d.status = 'INTERRUPTED' and d.worker_id = ${param('workerId')}::uuid)",
    replacement: "and d.status = 'PENDING' and ${param('workerId')}::uuid is not null",
    scenario: 'drain',
    seed: 4,
  },
  {
    name: 'recovery releases a backlog without its deliveries',
    file: recovery,
    search: "update deliveries d set status = 'INTERRUPTED', error = ${error},",
    replacement: "update deliveries d set status = 'PENDING', error = ${error},",
    scenario: 'drain',
    seed: 31,
  },
]
