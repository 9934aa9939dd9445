import type { Mutant } from './mutant.ts'

const claims = 'packages/core/src/work/claims.ts'
const heartbeat = 'apps/worker/src/process/heartbeat.ts'
const sending = 'packages/core/src/campaigns/sending.ts'
const statements = 'packages/core/src/campaigns/sending-statements.ts'
const mails = 'packages/core/src/mail/mails.ts'
const batchJob = 'apps/worker/src/jobs/send-campaign-batch.ts'

/** Guards of claims, and of the mails and batches that are done with them. */
export const workMutants: readonly Mutant[] = [
  {
    name: 'work is claimed although another job has it',
    file: claims,
    search: '        isNull(work.token),\n',
    replacement: '        isNull(work.token) && undefined,\n',
    scenario: 'mails',
  },
  {
    name: 'a release does not ask for its token',
    file: claims,
    search: 'publishedAt: null } : free)\n    .where(isHeld(claim))',
    replacement: 'publishedAt: null } : free)\n    .where(isWorkOf(claim))',
    scenario: 'mails',
  },
  {
    name: 'recovery does not ask for the token of a claim',
    file: claims,
    search: '.from(work).where(isHeld(claim)).for',
    replacement: '.from(work).where(isWorkOf(claim)).for',
    scenario: 'mails',
  },
  {
    name: 'a job acts although it could not claim',
    file: mails,
    search: 'if (!mail || !(await claimWork(ctx, claim))) return undefined',
    replacement: 'if (!mail || !((await claimWork(ctx, claim)) || true)) return undefined',
    scenario: 'mails',
  },
  {
    name: 'a worker does not know its own claims',
    file: heartbeat,
    search: 'tokens.includes(token)',
    replacement: 'tokens.includes(token) && false',
    scenario: 'mails',
  },
  {
    name: 'a mail does not keep the token of its attempt',
    file: mails,
    search: 'await ctx.db.update(mails).set({ token }).where(isPending)',
    replacement: 'await ctx.db.update(mails).set({ token: mail.token ?? token }).where(isPending)',
    scenario: 'mails',
  },
  {
    name: 'a late outcome of a mail is recorded although another attempt has begun',
    file: mails,
    search: "and(byId(mails, ctx, mail.id), eq(mails.token, mail.token ?? ''))",
    replacement: 'byId(mails, ctx, mail.id)',
    scenario: 'mails',
  },
  {
    name: 'an outcome of a mail is recorded whatever its status',
    file: mails,
    search: ".where(and(isLastAttempt, inArray(mails.status, ['PENDING', 'INTERRUPTED'])))",
    replacement: '.where(and(isLastAttempt))',
    scenario: 'mails',
  },
  {
    name: 'the outcome of a mail is not recorded after recovery',
    file: mails,
    search: "inArray(mails.status, ['PENDING', 'INTERRUPTED'])",
    replacement: "inArray(mails.status, ['PENDING'])",
    scenario: 'mails',
  },
  {
    name: 'an INTERRUPTED mail waits for another attempt',
    file: mails,
    search: "status === 'PENDING' && current.status === 'INTERRUPTED' ? 'FAILED' : status",
    replacement: 'status',
    scenario: 'mails',
  },
  {
    name: 'a test mail with an unknown outcome is sent again',
    file: mails,
    search: 'outcome.temporary : mayBeRepeated(mail)',
    replacement: 'outcome.temporary : true',
    scenario: 'mails',
  },
  {
    name: 'recovery sends a test mail again',
    file: mails,
    search: 'if (mayBeRepeated(mail) && attempts < maxMailAttempts) {',
    replacement: 'if (attempts < maxMailAttempts) {',
    scenario: 'mails',
  },
  {
    name: 'recovery gives a mail any number of attempts',
    file: mails,
    search: 'if (mayBeRepeated(mail) && attempts < maxMailAttempts) {',
    replacement: 'if (mayBeRepeated(mail)) {',
    scenario: 'mails',
  },
  {
    name: 'a recipient is claimed whatever its status',
    file: statements,
    search: "where r.status = 'WAITING'\n      returning batch_id, contact_id",
    replacement: 'returning batch_id, contact_id',
    scenario: 'campaign',
  },
  {
    name: 'a group is claimed although the claim was lost',
    file: statements,
    search: '        and ${renewed(param).condition}\n',
    replacement: '        and ${renewed(param).condition} is not null\n',
    scenario: 'campaign',
  },
  {
    name: 'a group does not renew the claim',
    file: statements,
    search: 'update work w set ${renewed(param).assignment}',
    replacement: "update work w set token = coalesce(token, ${param('token')}::uuid)",
    scenario: 'campaign',
  },
  {
    name: 'a group is claimed although the campaign is not sending',
    file: statements,
    search: "and c.status = 'SENDING' and ${not",
    replacement: 'and ${not',
    scenario: 'campaign',
  },
  {
    name: 'a recipient who opted out is claimed',
    file: statements,
    search: "case when s.status = 'CONFIRMED' then 'SENDING' else 'SKIPPED' end",
    replacement: "'SENDING'",
    scenario: 'campaign',
  },
  {
    name: 'the outcomes of recipients are not recorded after recovery',
    file: statements,
    search: "and r.status in ('SENDING', 'INTERRUPTED')",
    replacement: "and r.status = 'SENDING'",
    scenario: 'campaign',
  },
  {
    name: 'a late outcome of a recipient is recorded although another attempt has begun',
    file: statements,
    search: "and r.token = ${param('token')}::uuid and r.status",
    replacement: "and ${param('token')}::uuid is not null and r.status",
    scenario: 'campaign',
  },
  {
    name: 'recipients are not locked before their counters change',
    file: statements,
    search: '      for update of r),',
    replacement: '      ),',
    scenario: 'campaign',
  },
  {
    name: 'a batch is released without interrupting its recipients',
    file: sending,
    search: 'const interrupted = await interruptRecipients(ctx, sql`batch_id = ${claim.id}`, error)',
    replacement: 'const interrupted = error ? 0 : 0',
    scenario: 'campaign',
  },
  {
    name: 'recipients that were certainly not sent to become INTERRUPTED',
    file: sending,
    search: '    if (claim.unsentToken !== undefined) await returnUnsent(ctx, claim.id, claim.unsentToken)\n',
    replacement: '',
    scenario: 'campaign',
  },
  {
    name: 'recipients that may have been sent to wait for another attempt',
    file: sending,
    search: '  claim.unsentToken = undefined\n',
    replacement: '',
    scenario: 'campaign',
  },
  {
    name: 'a batch is finished with recipients that are still open',
    file: sending,
    search: "if (await hasOpenRecipients(ctx, batch.claim)) return 'waiting'",
    replacement: "if (((await hasOpenRecipients(ctx, batch.claim)) && false) as boolean) return 'waiting'",
    scenario: 'campaign',
  },
  {
    name: 'a batch is ended by a job whose claim was lost',
    file: sending,
    search: "if (!(await finishClaim(ctx, batch.claim))) return 'done'",
    replacement: 'await finishClaim(ctx, batch.claim)',
    scenario: 'campaign',
  },
  {
    name: 'work is finished although the claim was lost',
    file: claims,
    search: 'db.delete(work).where(isHeld(claim)).returning',
    replacement: 'db.delete(work).where(isWorkOf(claim)).returning',
    scenario: 'campaign',
  },
  {
    name: 'the outcomes are recorded before the mails are sent',
    file: batchJob,
    search: 'const smtpOutcomes = await sendGroup(deps, render, recipients)',
    replacement:
      "await recordRecipientOutcomes(ctx, batch, recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null })))\n" +
      '    const smtpOutcomes = await sendGroup(deps, render, recipients)',
    scenario: 'campaign',
  },
]
