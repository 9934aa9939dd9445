import type { TestedGuard } from './tested-guard.ts'

const core = 'packages/core/src'
const events = `${core}/operations/mail/mail-events.ts`
const reported = `${core}/operations/mail/find-reported-mails.ts`
const classes = `${core}/mail/bounces/classify-bounce.ts`
const soft = `${core}/suppressions/soft-bounces.ts`
const rates = `${core}/campaigns/find-rate-problem.ts`
const byToken = [`${core}/operations/mail/reports-by-token.int.test.ts`]
const byClient = [`${core}/operations/mail/mail-events.int.test.ts`]
const byHook = [`${core}/operations/mail/receive-hook-message.int.test.ts`]
const bySoftRule = [`${core}/suppressions/soft-bounces.test.ts`, ...byClient]

/** A bounce counts once, by its class, and for the address that the email was sent to. */
export const bounceGuards: readonly TestedGuard[] = [
  {
    name: 'a report counts for a workspace that has no such email',
    promise: 'consent',
    file: `${core}/operations/mail/find-reported-workspace.ts`,
    search: '(id) => found.get(id))',
    replacement: '(id) => found.get(id) ?? workspaceIds[0])',
    tests: [`${core}/operations/mail/receive-hook-emails.int.test.ts`, ...byHook],
  },
  {
    name: 'a repeated report counts again',
    promise: 'events',
    file: events,
    search: 'const ofPeople = added.filter(({ mail }) => !mail.isErased)',
    replacement: 'const ofPeople = reported.filter(({ mail }) => !mail.isErased)',
    tests: [...byToken, ...byClient],
  },
  {
    name: 'a bounce without a known code suppresses',
    promise: 'consent',
    file: classes,
    search: "classOfCode(enhanced) : (facts.otherwise ?? 'SOFT')",
    replacement: "classOfCode(enhanced) : (facts.otherwise ?? 'HARD')",
    tests: [`${core}/mail/bounces/classify-bounce.test.ts`],
  },
  {
    name: 'a temporary refusal suppresses if it names an unknown address',
    promise: 'consent',
    file: classes,
    search: "isTemporary ? 'SOFT' : isExact",
    replacement: 'isExact',
    tests: [`${core}/mail/bounces/classify-bounce.test.ts`],
  },
  {
    name: 'an address is suppressed because the server refuses the sender',
    promise: 'consent',
    file: classes,
    search: 'severity[other] < severity[one] ? other : one',
    replacement: 'severity[other] < severity[one] ? one : one',
    tests: [`${core}/mail/bounces/classify-bounce.test.ts`],
  },
  {
    name: 'a member of a list suppresses the address of the list',
    promise: 'consent',
    file: reported,
    search: 'if (report.isOfOtherAddress) return null',
    replacement: 'if (report.isOfOtherAddress && !token) return null',
    tests: ['apps/worker/src/bounces/bounce-listener.int.test.ts'],
  },
  {
    name: 'a bounce suppresses the present address, whichever the email was sent to',
    promise: 'consent',
    file: reported,
    search: 'const named = [mail.contact?.email, sentTo, report.email].find(',
    replacement: 'const named = mail.contact?.email ?? [sentTo, report.email].find(',
    tests: byToken,
  },
  {
    name: 'a complaint about a single email forgets whom it was sent to',
    promise: 'consent',
    file: `${core}/operations/mail/find-subjects.ts`,
    search: 'isRequestedMail(kind) ? data.contactId : undefined',
    replacement: 'undefined',
    tests: byToken,
  },
  {
    name: 'a complaint about a test email is one of the contact that it shows',
    promise: 'consent',
    file: `${core}/operations/mail/find-subjects.ts`,
    search: 'isRequestedMail(kind) ? data.contactId : undefined',
    replacement: 'data.contactId',
    tests: byToken,
  },
  {
    name: 'a provider suppresses any address that it names',
    promise: 'consent',
    file: reported,
    search: 'own.some((one) => isSameAddress(one, email)) ? email : null',
    replacement: 'own.length > 0 ? email : null',
    tests: byHook,
  },
  {
    name: 'a bounce of an erased person emits an event',
    promise: 'consent',
    file: events,
    search: 'const ofPeople = added.filter(({ mail }) => !mail.isErased)',
    replacement: 'const ofPeople = added.filter(({ mail }) => mail !== undefined)',
    tests: byToken,
  },
  {
    name: 'a complaint does not hold for the present address',
    promise: 'consent',
    file: events,
    search: "[address, reason === 'BOUNCED' ? null : contact?.email]",
    replacement: '[address, contact ? null : null]',
    tests: byToken,
  },
  {
    name: 'SOFT bounces of a few days suppress',
    promise: 'consent',
    file: soft,
    search: 'const minSpanMs = 7 * dayMs',
    replacement: 'const minSpanMs = 0 * dayMs',
    tests: bySoftRule,
  },
  {
    name: 'SOFT bounces suppress an address that gets most of its emails',
    promise: 'consent',
    file: soft,
    search:
      'return bounces >= minBounces && bounces * lastMails >= Math.max(countSince(mailedAt), bounces) * minBounces',
    replacement: 'return bounces >= minBounces',
    tests: bySoftRule,
  },
  {
    name: 'a SOFT bounce replaces a HARD one of the same email',
    promise: 'campaigns',
    file: `${core}/campaigns/recipient-reports.ts`,
    search: "r.bounce_class is distinct from 'HARD'",
    replacement: 'true',
    tests: byToken,
  },
  {
    name: 'a campaign pauses by a few complaints',
    promise: 'campaigns',
    file: rates,
    search: 'complained >= minComplaints && complained > mails * maxComplaintRate',
    replacement: 'complained > mails * maxComplaintRate',
    tests: [`${core}/campaigns/find-rate-problem.test.ts`],
  },
  {
    name: 'a campaign goes on at any rate of complaints',
    promise: 'campaigns',
    file: 'apps/worker/src/jobs/send-campaign-batch.ts',
    search: '  if (rateProblem !== undefined) return',
    replacement: "  if (rateProblem === '') return",
    tests: [
      'apps/worker/src/jobs/send-campaign-pauses.int.test.ts',
      'apps/worker/src/jobs/refused-recipients.int.test.ts',
    ],
  },
  {
    name: 'a feedback loop reports a complaint with a forged token',
    promise: 'input',
    file: 'apps/worker/src/bounces/record-bounce-mail.ts',
    search: '  if (!opened) return false\n  if (complaint)',
    replacement: '  if (!opened) return true\n  if (complaint)',
    tests: ['apps/worker/src/bounces/bounce-listener.int.test.ts'],
  },
  {
    name: 'a forged return path reports a bounce',
    promise: 'input',
    file: `${core}/mail/bounces/recipient-token.ts`,
    search: '  if (!key) return undefined\n',
    replacement: '  if (!key && keys.returnPaths.length === 0) return undefined\n',
    tests: [`${core}/mail/bounces/recipient-token.test.ts`],
  },
]
