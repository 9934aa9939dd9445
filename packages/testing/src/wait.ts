import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { TimeoutError, withTimeout } from '@rapport/core/kernel/with-timeout.ts'

const pollIntervalMs = 15

type Falsy = false | 0 | 0n | '' | null | undefined

/**
 * Asks `condition` every few milliseconds until it answers something truthy, and returns that. An error it throws counts
 * as "not yet". After `timeoutMs` (5 seconds) it fails with `describe` and with what was last answered or thrown.
 */
export async function waitUntil<T>(
  condition: () => T | Promise<T>,
  options: { describe: string | (() => string); timeoutMs?: number },
): Promise<Exclude<T, Falsy>> {
  const timeoutMs = options.timeoutMs ?? 5_000
  const polling = new AbortController()
  let last = 'never answered'

  async function poll(): Promise<Exclude<T, Falsy>> {
    for (;;) {
      const answer = await ask(condition)
      if ('value' in answer && answer.value) return answer.value as Exclude<T, Falsy>
      last = 'value' in answer ? `last value: ${inspect(answer.value)}` : `last error: ${inspect(answer.error)}`
      await pause(pollIntervalMs, undefined, { signal: polling.signal })
    }
  }
  try {
    // The timeout holds also while a condition hangs, so that the failure names the condition.
    return await withTimeout(poll(), timeoutMs)
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error
    const described = typeof options.describe === 'string' ? options.describe : options.describe()
    throw new Error(`Waited ${timeoutMs} ms in vain until ${described}; ${last}`, { cause: error })
  } finally {
    polling.abort()
  }
}

async function ask<T>(condition: () => T | Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await condition() }
  } catch (error) {
    return { error }
  }
}
