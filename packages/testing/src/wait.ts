import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { TimeoutError, withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'

const [minPollMs, maxPollMs] = [15, 150]

type Falsy = false | 0 | 0n | '' | null | undefined

/**
 * Calls `condition` repeatedly until it returns a truthy value, and returns that value. Calls it less often the longer it
 * waits, to leave the processors to what it waits for. Tries again after an error. Fails after `timeoutMs` (default: 20
 * seconds) with `describe` and the last value or error.
 */
export async function waitUntil<T>(
  condition: () => T | Promise<T>,
  options: { describe: string | (() => string); timeoutMs?: number },
): Promise<Exclude<T, Falsy>> {
  const timeoutMs = options.timeoutMs ?? 20_000
  const polling = new AbortController()
  const startedAt = performance.now()
  let last = 'no value yet'

  async function poll(): Promise<Exclude<T, Falsy>> {
    for (;;) {
      const result = await evaluate(condition)
      if ('value' in result && result.value) return result.value as Exclude<T, Falsy>
      last = 'value' in result ? `last value: ${inspect(result.value)}` : `last error: ${inspect(result.error)}`
      const pollMs = Math.min(Math.max((performance.now() - startedAt) / 20, minPollMs), maxPollMs)
      await pause(pollMs, undefined, { signal: polling.signal })
    }
  }
  try {
    // The timeout also ends a condition that hangs, so that the error names the condition.
    return await withTimeout(poll(), timeoutMs)
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error
    const described = typeof options.describe === 'string' ? options.describe : options.describe()
    throw new Error(`Timed out after ${timeoutMs} ms waiting until ${described}; ${last}`, { cause: error })
  } finally {
    polling.abort()
  }
}

async function evaluate<T>(condition: () => T | Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await condition() }
  } catch (error) {
    return { error }
  }
}
