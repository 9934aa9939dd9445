import type { TestedGuard } from './tested-guard.ts'

const core = 'packages/core/src'
const claiming = `${core}/emails/claim-emails.ts`
const recording = `${core}/emails/record-emails.ts`
const accepting = `${core}/emails/accept-emails.ts`
const inserting = `${core}/emails/insert-emails.ts`
const bySending = ['apps/worker/src/jobs/send-email.int.test.ts']
const byCalling = ['apps/api/test/contract/emails.int.test.ts']

/** An email to one person goes out at most once, to an address that may get it, and leaves no content. */
export const emailGuards: readonly TestedGuard[] = [
  {
    promise: 'emails',
    name: 'an email to an address that is suppressed is accepted',
    file: accepting,
    search: '    if (reason) throw createBlockedError(reason)\n',
    replacement: '',
    tests: byCalling,
  },
  {
    promise: 'emails',
    name: 'an opt-out from newsletters stops a receipt',
    file: `${core}/suppressions/email-block.ts`,
    search: "suppressionReasons.filter((reason) => reason !== 'OPTED_OUT')",
    replacement: 'suppressionReasons',
    tests: [...byCalling, ...bySending],
  },
  {
    promise: 'emails',
    name: 'a complaint whose row is lost stops no email',
    file: `${core}/suppressions/email-block.ts`,
    search: "and s.status in ('BOUNCED', 'COMPLAINED')",
    replacement: "and s.status in ('BOUNCED', 'COMPLAINED') and false",
    tests: [`${core}/suppressions/email-block.int.test.ts`],
  },
  {
    promise: 'emails',
    name: 'an email goes to an address that was suppressed after the call',
    file: claiming,
    search: 'const reason = contact && blocks.get(contact.id)',
    replacement: 'const reason = contact && blocks.get(contact.id) && undefined',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email that waits for a connection goes to an address that was suppressed meanwhile',
    file: recording,
    search: "return reason && { kind: 'withdrawn', error: describeBlock(reason) }",
    replacement: 'return reason && undefined',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email that waits for a connection goes to an address that the contact left meanwhile',
    file: recording,
    search: 'if (current.email !== email.contact.email)',
    replacement: "if (current.email === '')",
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email that waits for a connection goes to a contact that was erased meanwhile',
    file: recording,
    search: '  if (!current) return {',
    replacement: '  if (!current) return undefined\n  if (!current.email) return {',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'the emails of an erased contact stay',
    file: `${core}/emails/emails-of-contact.ts`,
    search: 'if (ids.length > 0) {',
    replacement: 'if (ids.length > 50_000) {',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'the values of an email stay after its outcome',
    file: recording,
    search: 'sealed_data = null,',
    replacement: '',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'the values of an email that waits are readable in the database',
    file: inserting,
    search: 'seal(ctx.settings.keys, JSON.stringify(input.data), id)',
    replacement: '[seal(ctx.settings.keys, JSON.stringify(input.data), id), JSON.stringify(input.data)][1] ?? null',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'a value that the mail server quotes stays in the reason',
    file: 'apps/worker/src/jobs/send-mail.ts',
    search: 'error: hideValues(outcome.error)',
    replacement: 'error: outcome.error',
    tests: ['apps/worker/src/jobs/send-email-values.int.test.ts'],
  },
  {
    promise: 'emails',
    name: 'a value that a later bounce quotes stays in its event',
    file: 'packages/core/src/operations/mail/mail-events.ts',
    search: 'recipient ? report.detail : hideValues(report.detail)',
    replacement: 'report.detail',
    tests: ['apps/worker/src/bounces/bounce-listener.int.test.ts'],
  },
  {
    promise: 'emails',
    name: 'a repeated call sends a second email',
    file: 'apps/api/src/routes/emails.ts',
    search: 'idempotent(async (request, reply) => {',
    replacement: '(async (request, reply) => {',
    tests: byCalling,
  },
  {
    promise: 'emails',
    name: 'an email is sent from the template of another workspace',
    file: inserting,
    search: '    where t.workspace_id = ${workspaceId}\n',
    replacement: '    where ${workspaceId}::uuid is not null\n',
    tests: byCalling,
  },
  {
    promise: 'emails',
    name: 'an email with an unknown outcome is sent again',
    file: recording,
    search: "return outcome.kind === 'refused' && mayPassLater(outcome) ?",
    replacement: "return outcome.kind === 'ambiguous' || (outcome.kind === 'refused' && mayPassLater(outcome)) ?",
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'the email of a worker that died never ends',
    file: recording,
    search: '    await interruptEmail(scope, { ...email, attempts: email.attempts + 1 }, error)\n',
    replacement: '',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email that is refused for now is tried for ever',
    file: recording,
    search: 'retryDelaysMs[attempts - 1]',
    replacement: 'retryDelaysMs[0]',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email from a paused template is sent',
    file: claiming,
    search: " and t.status = 'ACTIVE'",
    replacement: '',
    tests: ['apps/worker/src/jobs/send-email-pauses.int.test.ts'],
  },
]
