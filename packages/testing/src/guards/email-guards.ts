import type { TestedGuard } from './tested-guard.ts'

const core = 'packages/core/src'
const sending = `${core}/emails/send-email.ts`
const accepting = `${core}/emails/create-email.ts`
const bySending = ['apps/worker/src/jobs/send-email.int.test.ts']
const byCalling = ['apps/api/test/contract/emails.int.test.ts']

/** An email to one person goes out at most once, to an address that may get it, and leaves no content. */
export const emailGuards: readonly TestedGuard[] = [
  {
    promise: 'emails',
    name: 'an email to an address that is suppressed is accepted',
    file: accepting,
    search: '  await requireEmailable(ctx, contact)\n',
    replacement: '',
    tests: byCalling,
  },
  {
    promise: 'emails',
    name: 'an opt-out from newsletters stops a receipt',
    file: `${core}/suppressions/email-block.ts`,
    search: "row.listId === null && row.reason !== 'OPTED_OUT'",
    replacement: 'row.listId === null',
    tests: [...byCalling, ...bySending],
  },
  {
    promise: 'emails',
    name: 'a complaint whose row is lost stops no email',
    file: `${core}/suppressions/email-block.ts`,
    search: ' ?? (await findBlockedStatus(ctx, id))',
    replacement: '',
    tests: [`${core}/suppressions/email-block.int.test.ts`],
  },
  {
    promise: 'emails',
    name: 'an email goes to an address that was suppressed after the call',
    file: sending,
    search: 'contact ? await findEmailBlock(ctx, contact) : undefined',
    replacement: 'undefined',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email that waits for a connection goes to an address that was suppressed meanwhile',
    file: sending,
    search: "return reason && { kind: 'withdrawn', error: describeBlock(reason) }",
    replacement: 'return reason && undefined',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email that waits for a connection goes to an address that the contact left meanwhile',
    file: sending,
    search: 'if (current.email !== email.contact.email)',
    replacement: "if (current.email === '')",
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email that waits for a connection goes to a contact that was erased meanwhile',
    file: sending,
    search: '  if (!current) return {',
    replacement: '  if (!current) return undefined\n  if (!current.email) return {',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'the emails of an erased contact stay',
    file: `${core}/emails/pending-emails.ts`,
    search: 'if (ids.length > 0) {',
    replacement: 'if (ids.length > 50_000) {',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'the values of an email stay after its outcome',
    file: sending,
    search: 'attempts: email.attempts, sealedData: null, endedAt',
    replacement: 'attempts: email.attempts, endedAt',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'the values of an email that waits are readable in the database',
    file: accepting,
    search: 'seal(ctx.settings.keys, JSON.stringify(data), id)',
    replacement: '[seal(ctx.settings.keys, JSON.stringify(data), id), JSON.stringify(data)][1] ?? null',
    tests: bySending,
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
    file: accepting,
    search: '.where(byId(templates, ctx, id))',
    replacement: '.where(eq(templates.id, id))',
    tests: byCalling,
  },
  {
    promise: 'emails',
    name: 'an email with an unknown outcome is sent again',
    file: sending,
    search: "return outcome.kind === 'refused' && outcome.temporary ?",
    replacement: "return outcome.kind === 'ambiguous' || (outcome.kind === 'refused' && outcome.temporary) ?",
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'the email of a worker that died never ends',
    file: sending,
    search: '    await interruptEmail(scope, { ...email, attempts: email.attempts + 1 }, error)\n',
    replacement: '',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email that is refused for now is tried for ever',
    file: sending,
    search: 'retryDelaysMs[attempts - 1]',
    replacement: 'retryDelaysMs[0]',
    tests: bySending,
  },
  {
    promise: 'emails',
    name: 'an email from a paused template is sent',
    file: sending,
    search: ", eq(templates.status, 'ACTIVE')",
    replacement: '',
    tests: ['apps/worker/src/jobs/send-email-pauses.int.test.ts'],
  },
]
