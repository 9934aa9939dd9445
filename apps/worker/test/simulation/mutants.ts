/**
 * Guards of claims, each taken out: the simulation has to find every one. After a move of the code, change `file`,
 * `search` and `replacement`: `mutants.test.ts` lists the mutants that no longer find their text.
 */

export interface Mutant {
  /** What is no longer guarded. */
  name: string
  /** Relative to the root of the repository. */
  file: string
  search: string
  replacement: string
  /** The scenario that reaches it. */
  scenario: 'mails' | 'campaign' | 'cancellation' | 'drain'
  /** A seed of the scenario that finds it. If it does not after a change, `pnpm simulate --mutants` shows another one. */
  seed: number
}

const sending = 'packages/core/src/campaigns/sending.ts'
const statements = 'packages/core/src/campaigns/sending-statements.ts'
const mails = 'packages/core/src/mail/mails.ts'
const backlog = 'packages/core/src/webhooks/drain/backlog-claim.ts'
const outcomes = 'packages/core/src/webhooks/drain/record-outcomes.ts'
const recovery = 'packages/core/src/operations/orphaned-claims.ts'
const batchJob = 'apps/worker/src/jobs/send-campaign-batch.ts'

export const mutants: readonly Mutant[] = [
  {
    name: 'a mail whose outcome cannot be recorded stays claimed',
    file: 'apps/worker/src/jobs/send-mail.ts',
    search: 'deps.metrics.countInterrupted(await retryWhileDatabaseDown(deps, release))',
    replacement: 'void release',
    scenario: 'mails',
    seed: 218,
  },
  {
    name: 'a mail is claimed whatever its status',
    file: mails,
    search: "idOf('mai', uuid)), eq(mails.status, 'PENDING'), canBeSent",
    replacement: "idOf('mai', uuid)), canBeSent",
    scenario: 'mails',
    seed: 1,
  },
  {
    name: 'a test mail with an unknown outcome is sent again',
    file: mails,
    search: "outcome.temporary : mail.kind !== 'CAMPAIGN_TEST'",
    replacement: 'outcome.temporary : true',
    scenario: 'mails',
    seed: 182,
  },
  {
    name: 'recovery sends a test mail again',
    file: recovery,
    search: "(${mails.kind} = 'CAMPAIGN_TEST' or ${mails.attempts} >= ${maxMailAttempts})",
    replacement: '(${mails.attempts} >= ${maxMailAttempts})',
    scenario: 'mails',
    seed: 7,
  },
  {
    name: 'the work of a mail is finished even if its outcome was not recorded',
    file: mails,
    search: 'if (updated) await finishWork',
    replacement: 'await finishWork',
    scenario: 'mails',
    seed: 37,
  },
  {
    name: 'a late outcome of a mail is recorded although another worker claimed it',
    file: mails,
    search: "          eq(mails.workerId, mail.workerId ?? ''),\n",
    replacement: '',
    scenario: 'mails',
    seed: 417,
  },
  {
    name: 'a release gives up a mail that was sent',
    file: mails,
    search: "eq(mails.status, 'SENDING'), eq(mails.workerId, workerId)",
    replacement: 'eq(mails.workerId, workerId)',
    scenario: 'mails',
    seed: 1,
  },
  {
    name: 'a batch is claimed whatever its status',
    file: sending,
    search: "eq(campaignBatches.status, 'PENDING'),\n        eq(campaigns.workspaceId",
    replacement: 'eq(campaigns.workspaceId',
    scenario: 'campaign',
    seed: 22,
  },
  {
    name: 'a recipient is claimed whatever its status',
    file: statements,
    search: "where r.status = 'WAITING'\n      returning batch_id, contact_id",
    replacement: 'returning batch_id, contact_id',
    scenario: 'campaign',
    seed: 1,
  },
  {
    name: 'a group is claimed although the campaign is not sending',
    file: statements,
    search: "and c.status = 'SENDING' and b.status",
    replacement: 'and b.status',
    scenario: 'campaign',
    seed: 9,
  },
  {
    name: 'a recipient who opted out is claimed',
    file: statements,
    search: "case when s.status = 'CONFIRMED' then 'SENDING' else 'SKIPPED' end",
    replacement: "'SENDING'",
    scenario: 'campaign',
    seed: 18,
  },
  {
    name: 'the outcomes of recipients are not recorded after recovery',
    file: statements,
    search: "and r.status in ('SENDING', 'INTERRUPTED')",
    replacement: "and r.status = 'SENDING'",
    scenario: 'campaign',
    seed: 256,
  },
  {
    name: 'recipients are not locked before their counters change',
    file: statements,
    search: '      for update of r),',
    replacement: '      ),',
    scenario: 'campaign',
    seed: 95,
  },
  {
    name: 'a batch with an error is released without interrupting its recipients',
    file: sending,
    search: "const interrupted = await interruptRecipients(ctx, isClaimed, 'The outcome could not be recorded')",
    replacement: 'const interrupted = isClaimed ? 0 : 0',
    scenario: 'campaign',
    seed: 71,
  },
  {
    name: 'a batch is finished with recipients that are still open',
    file: sending,
    search: 'if (await hasOpenRecipients(ctx, batch)) {',
    replacement: 'if (false as boolean) {',
    scenario: 'campaign',
    seed: 4,
  },
  {
    name: 'a batch is ended by a worker that does not own it',
    file: sending,
    search: '    eq(campaignBatches.workerId, batch.workerId),\n',
    replacement: '',
    scenario: 'cancellation',
    seed: 1,
  },
  {
    name: 'the outcomes are recorded before the mails are sent',
    file: batchJob,
    search: 'const smtpOutcomes = await sendGroup(deps, render, recipients)',
    replacement:
      "await recordRecipientOutcomes(ctx, batch, recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null })))\n" +
      '    const smtpOutcomes = await sendGroup(deps, render, recipients)',
    scenario: 'campaign',
    seed: 1,
  },
  {
    name: 'a backlog is claimed although another job owns it',
    file: backlog,
    search: 'where drain.token is null and (',
    replacement: 'where (',
    scenario: 'drain',
    seed: 2,
  },
  {
    name: 'a take reads deliveries that are in flight',
    file: backlog,
    search: "and status = 'PENDING' and id <> all(${param('inFlight')}::uuid[]) and exists",
    replacement: "and status = 'PENDING' and exists",
    scenario: 'drain',
    seed: 4,
  },
  {
    name: 'a job goes on after its claim was recovered',
    file: backlog,
    search: 'return isOwner ? takeOldest(db, claim, { ...step, ended: recorded, token }) : undefined',
    replacement: 'return isOwner || true ? takeOldest(db, claim, { ...step, ended: recorded, token }) : undefined',
    scenario: 'drain',
    seed: 21,
  },
  {
    name: 'a take does not write its deliveries',
    file: backlog,
    search: 'delivery_ids = ids,',
    replacement: "delivery_ids = '{}',",
    scenario: 'drain',
    seed: 4,
  },
  {
    name: 'the former token is forgotten after a lost response',
    file: backlog,
    search: 'claim.tokens = [...claim.tokens, token]',
    replacement: 'claim.tokens = [token]',
    scenario: 'drain',
    seed: 49,
  },
  {
    name: 'a release of a backlog does not ask for its token',
    file: backlog,
    search: 'and token = any(${sql.param(claim.tokens)}::uuid[])`)',
    replacement: '`)',
    scenario: 'drain',
    seed: 4,
  },
  {
    name: 'late outcomes of deliveries are not recorded',
    file: outcomes,
    search: "and (d.status = 'PENDING' or d.status = 'INTERRUPTED' and d.worker_id = ${param('workerId')}::uuid)",
    replacement: "and d.status = 'PENDING' and ${param('workerId')}::uuid is not null",
    scenario: 'drain',
    seed: 39,
  },
  {
    name: 'recovery releases a backlog without its deliveries',
    file: recovery,
    search: "update deliveries d set status = 'INTERRUPTED', error = ${error},",
    replacement: "update deliveries d set status = 'PENDING', error = ${error},",
    scenario: 'drain',
    seed: 4,
  },
]

/** Returns the source with the mutation. Throws if the guard is no longer there. */
export function mutate(source: string, { name, file, search, replacement }: Mutant): string {
  if (source.split(search).length !== 2)
    throw new Error(`Mutant "${name}": the text must occur once in ${file}: ${search}`)
  return source.replace(search, () => replacement)
}
