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
import PostalMime, { addressParser } from 'postal-mime'
import {
  findValidToken,
  isFeedbackAddress,
  maxMessageBytes,
  recordBounceMail,
  recordFeedback,
} from './record-bounce-mail.ts'

const maxMessagesPerPass = 1_000
const timeoutMs = 30_000

/**
 * Reads the unseen messages once. Returns the number of those that it recorded. A message that cannot be recorded stays
 * unseen, and keeps no other one from being read. Fails when `closing` is aborted.
 */
export async function readMailbox(
  base: Omit<BaseCtx, 'requestId'>,
  { url, log, closing }: { url: string; log: Logger; closing?: AbortSignal },
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
      if (message && message.source && !(await tryToRecord(base, message.source, { uid, log }))) continue
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
  { uid, log }: { uid: number; log: Logger },
): Promise<boolean> {
  try {
    await recordMessage(base, raw)
    return true
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    log.error({ err: error, uid }, 'bounce in the mailbox not recorded')
    return false
  }
}

const recipientHeaders = ['delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'to']

/** The server may name the recipient in any of these headers. A forged one has no valid token. */
async function recordMessage(base: Omit<BaseCtx, 'requestId'>, raw: Buffer): Promise<void> {
  const mail = await PostalMime.parse(raw, { maxHeadersSize: 128 * 1024, maxNestingDepth: 20 }).catch(() => undefined)
  const values = (mail?.headers ?? []).filter(({ key }) => recipientHeaders.includes(key)).slice(0, 20)
  const parsed = values.flatMap(({ value }) => addressParser(value, { flatten: true }))
  const addresses = parsed.flatMap(({ address }) => address ?? [])
  const ctx = { ...base, requestId: `bounce-${randomUUID()}` }
  const tokens = new Set(addresses.flatMap((address) => findValidToken(base.settings, address) ?? []))
  for (const token of tokens) await recordBounceMail(ctx, token, raw)
  if (addresses.some(isFeedbackAddress)) await recordFeedback(ctx, raw)
}

interface MailboxOptions {
  url: string
  intervalMs: number
  isElected: () => Promise<boolean>
  log: Logger
}

/** Reads the mailbox until it is closed. */
export function startMailboxReader(
  base: Omit<BaseCtx, 'requestId'>,
  { url, intervalMs, isElected, log }: MailboxOptions,
): { close(): Promise<void> } {
  const closing = new AbortController()
  let isFailing = false
  async function run() {
    while (!closing.signal.aborted) {
      try {
        if (await isElected()) await readMailbox(base, { url, log, closing: closing.signal })
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
