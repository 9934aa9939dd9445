import type { Mutant } from './mutant.ts'

const claims = 'packages/core/src/work/claims.ts'
const sending = 'packages/core/src/campaigns/sending.ts'
const statements = 'packages/core/src/campaigns/sending-statements.ts'
const mails = 'packages/core/src/mail/mails.ts'
const batchJob = 'apps/worker/src/jobs/send-campaign-batch.ts'

/**
 * Guards of claims, and of the mails and batches that are done with them. Others show only in between, as a heartbeat or
 * a late outcome mends them within the run: integration tests of mails and campaigns notice their removal.
 */
export const workMutants: readonly Mutant[] = [
  {
    name: 'work is claimed although another job has it',
    file: claims,
    search: '        isNull(work.token),\n',
    replacement: '        isNull(work.token) && undefined,\n',
    scenario: 'mails',
    seed: 1,
  },
  {
    name: 'an email is claimed although another job has it',
    file: claims,
    search: 'and w.token is null and not',
    replacement: 'and not',
    scenario: 'emails',
    seed: 1,
  },
  {
    name: 'a release does not ask for its token',
    file: claims,
    search: 'publishedAt } : free)\n    .where(isOwned(claim))',
    replacement: 'publishedAt } : free)\n    .where(isWorkOf(claim))',
    scenario: 'mails',
    seed: 8,
  },
  {
    name: 'recovery does not ask for the token of a claim',
    file: claims,
    search: '.from(work).where(isOwned(claim)).for',
    replacement: '.from(work).where(isWorkOf(claim)).for',
    scenario: 'mails',
    seed: 10,
  },
  {
    name: 'a job acts although it could not claim',
    file: mails,
    search: 'if (!mail || !(await claimWork(ctx, claim))) return undefined',
    replacement: 'if (!mail || !((await claimWork(ctx, claim)) || true)) return undefined',
    scenario: 'mails',
    seed: 1,
  },
  {
    name: 'a mail does not keep the token of its attempt',
    file: mails,
    search: 'await ctx.db.update(mails).set({ token }).where(isPending)',
    replacement: 'await ctx.db.update(mails).set({ token: mail.token ?? token }).where(isPending)',
    scenario: 'mails',
    seed: 1,
  },
  {
    name: 'a test mail with an unknown outcome is sent again',
    file: mails,
    search: 'mayPassLater(outcome) : mayBeRepeated(mail)',
    replacement: 'mayPassLater(outcome) : true',
    scenario: 'mails',
    seed: 12,
  },
  {
    name: 'recovery sends a test mail again',
    file: mails,
    search: 'if (mayBeRepeated(mail) && attempts < maxMailAttempts) {',
    replacement: 'if (attempts < maxMailAttempts) {',
    scenario: 'mails',
    seed: 75,
  },
  {
    name: 'a group is claimed although the campaign is not sending',
    file: statements,
    search: "and c.status = 'SENDING' and ${not",
    replacement: 'and ${not',
    scenario: 'campaign',
    seed: 44,
  },
  {
    name: 'a recipient who opted out is claimed',
    file: statements,
    search: "case when s.contact_id is null then 'SKIPPED' else 'SENDING' end",
    replacement: "'SENDING'",
    scenario: 'campaign',
    seed: 4,
  },
  {
    name: 'the outcomes of recipients are not recorded after recovery',
    file: statements,
    search: "and r.status in ('SENDING', 'INTERRUPTED')",
    replacement: "and r.status = 'SENDING'",
    scenario: 'campaign',
    seed: 29,
  },
  {
    name: 'a batch is released without interrupting its recipients',
    file: sending,
    search: 'const interrupted = await interruptRecipients(ctx, claim.id, error)',
    replacement: 'const interrupted = error ? 0 : 0',
    scenario: 'campaign',
    seed: 94,
  },
  {
    name: 'a batch is finished with recipients that are still open',
    file: sending,
    search: "if (await hasOpenRecipients(ctx, batch.claim)) return 'retry'",
    replacement: "if (((await hasOpenRecipients(ctx, batch.claim)) && false) as boolean) return 'retry'",
    scenario: 'campaign',
    seed: 73,
  },
  {
    name: 'the outcomes are recorded before the mails are sent',
    file: batchJob,
    search: 'const smtpOutcomes = await sendGroup(deps, render, { recipients, askedAt, ask })',
    replacement:
      "await recordRecipientOutcomes(ctx, batch, recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null })))\n" +
      '    const smtpOutcomes = await sendGroup(deps, render, { recipients, askedAt, ask })',
    scenario: 'campaign',
  },
]
