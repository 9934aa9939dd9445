import type { TestedGuard } from './tested-guard.ts'

const core = 'packages/core/src'
const bounces = 'apps/worker/src/bounces'
const hooks = `${core}/operations/mail`
const byListener = [`${bounces}/attacked-listener.int.test.ts`]
const byHook = [`${hooks}/large-hook-messages.int.test.ts`]
const byProvider = [`${core}/mail/providers/read-message.test.ts`]

/** One party of an installation does not stop the others, and no provider reports without its signature. */
export const availabilityGuards: readonly TestedGuard[] = [
  {
    promise: 'availability',
    name: 'a mail with any number of parts is parsed',
    file: `${bounces}/parsing/mail-limits.ts`,
    search: 'if (lines > maxLines || headerLines > maxHeaderLines || boundaries > maxBoundaries) return true',
    replacement: 'if (lines > raw.length) return true',
    tests: [`${bounces}/parsing/mail-parser.test.ts`],
  },
  {
    promise: 'availability',
    name: 'one network takes all connections of the listener',
    file: `${bounces}/limit-connections.ts`,
    search: 'isAllowed: others.length < maxPerClient',
    replacement: 'isAllowed: others.length < Infinity',
    tests: byListener,
  },
  {
    promise: 'availability',
    name: 'a command that never ends holds its connection',
    file: `${bounces}/limit-connections.ts`,
    search: '    if (ms !== undefined) connection.timer',
    replacement: '    if (ms === 0) connection.timer',
    tests: byListener,
  },
  {
    promise: 'availability',
    name: 'the mailbox reader parses every mail',
    file: `${bounces}/read-mailbox.ts`,
    search: 'tokens.size > 0 || isFeedback ? await parser.read(raw) : undefined',
    replacement: 'await parser.read(raw)',
    tests: [`${bounces}/read-mailbox.int.test.ts`],
  },
  {
    promise: 'availability',
    name: 'a connection is held while a request waits for DNS',
    file: 'apps/api/src/http/handlers/idempotency.ts',
    search: 'const work = isRepetition ? () => Promise.reject(responseExpired()) : handle',
    replacement: 'const work = () => commitOnce(request, reply, handle)',
    tests: ['apps/api/src/routes/domains.int.test.ts'],
  },
  {
    promise: 'availability',
    name: 'a workspace with many requests gets all keys first',
    file: `${core}/kernel/concurrency/limit-in-turns.ts`,
    search: 'await slots.acquire(workspaceId, maxWaitMs, signal)',
    replacement: "await slots.acquire('all', maxWaitMs, signal)",
    tests: [`${core}/domains/domain-keys.test.ts`],
  },
  {
    promise: 'availability',
    name: 'each event of a message takes a transaction',
    file: `${hooks}/receive-hook-message.ts`,
    search: 'Math.min(chunkSize, ',
    replacement: 'Math.min(1, ',
    tests: byHook,
  },
  {
    promise: 'availability',
    name: 'a transaction ends any number of subscriptions',
    file: `${hooks}/receive-hook-message.ts`,
    search: 'const maxSubscriptions = 10_000',
    replacement: 'const maxSubscriptions = Infinity',
    tests: byHook,
  },
  {
    promise: 'availability',
    name: 'recording goes on after the client is gone',
    file: `${hooks}/receive-hook-message.ts`,
    search: '  if (closed?.aborted) throw',
    replacement: '  if (closed?.aborted === undefined) throw',
    tests: byHook,
  },
  {
    promise: 'outages',
    name: 'a statement of the queues waits for ever',
    file: 'apps/worker/src/queues/queue-backend.ts',
    search: '    query_timeout: queryTimeoutMs,\n',
    replacement: '    query_timeout: queryTimeoutMs * 0,\n',
    tests: ['apps/worker/src/queues/queue-backend.int.test.ts'],
  },
  {
    promise: 'input',
    name: 'a message of Twilio SendGrid needs no signature',
    file: `${core}/mail/providers/sendgrid.ts`,
    search: 'if (!isSigned || !isRecent(',
    replacement: 'if (!isRecent(',
    tests: byProvider,
  },
  {
    promise: 'input',
    name: 'a message of Amazon SES needs no signature',
    file: `${core}/mail/providers/sns.ts`,
    search: 'if (!(await hasSignature(envelope, origin, context))) throw refusedMessage()',
    replacement: 'await hasSignature(envelope, origin, context)',
    tests: byProvider,
  },
  {
    promise: 'input',
    name: 'the certificate of Amazon SES comes from any server',
    file: `${core}/mail/providers/sns.ts`,
    search: 'if (!url.startsWith(`${origin}/`) || ',
    replacement: 'if (',
    tests: [`${core}/mail/providers/sns.test.ts`],
  },
  {
    promise: 'input',
    name: 'a message of Mailgun needs no signature',
    file: `${core}/mail/providers/mailgun.ts`,
    search: 'if (!isSameSecret(signature, expected) || !isRecent(',
    replacement: 'if (!isRecent(',
    tests: byProvider,
  },
  {
    promise: 'input',
    name: 'a message of Resend needs no signature',
    file: `${core}/mail/providers/resend.ts`,
    search: ' || !hasSignature(request, secret)) throw',
    replacement: ') throw',
    tests: byProvider,
  },
  {
    promise: 'input',
    name: 'a message of Postmark needs no password',
    file: `${core}/mail/providers/postmark.ts`,
    search: "if (!isSameSecret(readCredential(headers.authorization ?? ''), secret)) throw",
    replacement: "if (secret === '') throw",
    tests: byProvider,
  },
  {
    promise: 'consent',
    name: 'an erasure leaves the notes of lifted suppressions',
    file: `${core}/operations/contacts/delete-contact.ts`,
    search: 'await forgetLiftNotes(ctx, { contactIds: [id, ...formerIds], emails })',
    replacement: 'await forgetLiftNotes(ctx, { contactIds: formerIds, emails: emails.slice(0, 0) })',
    tests: [`${core}/operations/contacts/forget-lift-notes.int.test.ts`],
  },
]
