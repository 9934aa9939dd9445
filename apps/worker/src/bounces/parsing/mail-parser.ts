/**
 * Reads the mails to return paths, which anybody may send. A mail with more lines or parts than a bounce is ignored unread. Any
 * other is parsed in a thread, so that this process does other work meanwhile, and ignored after a deadline: a mail of 500
 * KiB with 72,000 empty parts takes four seconds, and one with as many line breaks ten (2026-11-28).
 */
import { type InterruptibleThread, startThread } from '@rapport/core/kernel/concurrency/interruptible-thread.ts'
import { limitConcurrency } from '@rapport/core/kernel/concurrency/limit-concurrency.ts'
import type { IgnoredReason } from '../../process/metrics.ts'
import { isTooComplex } from './mail-limits.ts'
import type { MailContent } from './parsed-report.ts'

export interface MailParser {
  /** Undefined: the mail exceeds a limit, and `onIgnored` was called. */
  read(raw: Uint8Array): Promise<MailContent | undefined>
  close(): Promise<void>
}

const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 }

interface Options {
  onIgnored: (reason: IgnoredReason) => void
  /** In processor time. A bounce takes milliseconds. */
  deadlineMs?: number
}

export function createMailParser({ onIgnored, deadlineMs = 2_000 }: Options): MailParser {
  const inTurn = limitConcurrency(1)
  let thread: InterruptibleThread<Uint8Array, MailContent | undefined> | undefined

  async function close(): Promise<void> {
    const terminated = thread
    thread = undefined
    await terminated?.terminate()
  }

  async function readInThread(raw: Uint8Array): Promise<MailContent | undefined> {
    thread ??= await startThread(new URL('./parsing-thread.ts', import.meta.url), { resourceLimits })
    const result = await thread.run(raw, deadlineMs)
    if (result.kind === 'responded') {
      if (result.response === undefined) onIgnored('structure')
      return result.response
    }
    await close()
    if (result.kind === 'crashed' && result.error.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw result.error
    onIgnored('effort')
    return undefined
  }

  return {
    async read(raw) {
      if (!isTooComplex(raw)) return inTurn(() => readInThread(raw))
      onIgnored('structure')
      return undefined
    },
    close,
  }
}
