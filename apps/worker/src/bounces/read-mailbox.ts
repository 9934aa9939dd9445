/**
 * Reads bounces from a mailbox, for installations that cannot receive mail on a port. The elected worker reads the unseen
 * messages at each interval, on a new connection, and marks each as seen after its commit.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import { parseImapUrl } from '@rapport/core/mail/bounces/parse-imap-url.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import { ImapFlow } from 'imapflow'
import type { Logger } from 'pino'
import { findAddresses } from './parsing/addresses.ts'
import { maxMessageBytes, maxRecipients } from './parsing/mail-limits.ts'
import type { MailParser } from './parsing/mail-parser.ts'
import { findValidToken, isFeedbackAddress, recordBounceMail, recordFeedback } from './record-bounce-mail.ts'

const maxMessagesPerPass = 1_000
const timeoutMs = 30_000

interface MailboxReading {
  url: string
  log: Logger
  parser: Pick<MailParser, 'read'>
}

/**
 * Reads the unseen messages once. Returns the number of those that it recorded. A message that cannot be recorded stays
 * unseen, and keeps no other one from being read. Fails when `closing` is aborted.
 */
export async function readMailbox(
  base: Omit<BaseCtx, 'requestId'>,
  { url, log, parser, closing }: MailboxReading & { closing?: AbortSignal },
): Promise<number> {
  closing?.throwIfAborted()
  const { options, mailbox } = parseImapUrl(url, timeoutMs)
  const client = new ImapFlow(options)
  // Without a listener, a lost connection would end the process. The pending call fails too.
  client.on('error', () => {})
  const abort = () => client.close()
  closing?.addEventListener('abort', abort)
  try {
    await client.connect()
    await client.mailboxOpen(mailbox)
    const found = await client.search({ seen: false }, { uid: true })
    let recorded = 0
    for (const uid of found || []) {
      if (recorded === maxMessagesPerPass) break
      const message = await client.fetchOne(String(uid), { source: { maxLength: maxMessageBytes } }, { uid: true })
      if (message && message.source && !(await tryToRecord(base, message.source, { uid, log, parser }))) continue
      await client.messageFlagsAdd(String(uid), ['\\Seen'], { uid: true })
      recorded += 1
    }
    await client.logout()
    return recorded
  } finally {
    closing?.removeEventListener('abort', abort)
    client.close()
  }
}

/** Returns false if the message itself is why it cannot be recorded. */
async function tryToRecord(
  base: Omit<BaseCtx, 'requestId'>,
  raw: Buffer,
  { uid, log, parser }: Omit<MailboxReading, 'url'> & { uid: number },
): Promise<boolean> {
  try {
    await recordMessage(base, raw, parser)
    return true
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    log.error({ err: error, uid }, 'bounce in the mailbox not recorded')
    return false
  }
}

const recipientHeaders = /^(?:delivered-to|x-original-to|envelope-to|x-envelope-to|to):/i
const maxHeaderBytes = 128 * 1024

/**
 * The recipients in the header of a message. The server may name the recipient in any of these fields. A forged one has
 * no valid token.
 */
function findRecipients(raw: Buffer): string[] {
  const [header = ''] = raw.toString('latin1', 0, maxHeaderBytes).split(/\r?\n\r?\n/, 1)
  const fields = header.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  return fields
    .filter((field) => recipientHeaders.test(field))
    .slice(0, 20)
    .flatMap(findAddresses)
}

/** Parses a message only if it is to a valid return path, or to the feedback loops. */
async function recordMessage(
  base: Omit<BaseCtx, 'requestId'>,
  raw: Buffer,
  parser: Pick<MailParser, 'read'>,
): Promise<void> {
  const addresses = findRecipients(raw)
  const valid = new Set(addresses.flatMap((address) => findValidToken(base.settings, address) ?? []))
  const tokens = [...valid].slice(0, maxRecipients)
  const isFeedback = addresses.some(isFeedbackAddress)
  const content = tokens.length > 0 || isFeedback ? await parser.read(raw) : undefined
  if (content === undefined) return
  const ctx = { ...base, requestId: `bounce-${randomUUID()}` }
  for (const token of tokens) await recordBounceMail(ctx, token, content)
  if (isFeedback) await recordFeedback(ctx, content)
}

interface MailboxOptions extends MailboxReading {
  intervalMs: number
  isElected: () => Promise<boolean>
}

/** Reads the mailbox until it is closed. */
export function startMailboxReader(
  base: Omit<BaseCtx, 'requestId'>,
  { url, parser, intervalMs, isElected, log }: MailboxOptions,
): { close(): Promise<void> } {
  const closing = new AbortController()
  let isFailing = false
  async function run() {
    while (!closing.signal.aborted) {
      try {
        if (await isElected()) await readMailbox(base, { url, log, parser, closing: closing.signal })
        if (isFailing) log.info('reading bounces resumed')
        isFailing = false
      } catch (error) {
        if (!isFailing && !closing.signal.aborted) log.warn({ err: error }, 'reading bounces failed; retrying')
        isFailing = true
      }
      await sleep(intervalMs, undefined, { signal: closing.signal }).catch(() => {})
    }
  }
  const running = run()
  return {
    async close() {
      closing.abort()
      await running
    },
  }
}
