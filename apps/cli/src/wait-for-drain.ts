import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Resolves when the stream accepts more, or is closed. Leaves no listener: a large file waits thousands of times. */
export async function waitForDrain(stream: Writable): Promise<void> {
  const waiting = new AbortController()
  const options = { signal: waiting.signal }
  await Promise.race([once(stream, 'drain', options), once(stream, 'close', options)]).catch(() => {})
  waiting.abort()
}
