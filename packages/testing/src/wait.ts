import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'

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
  const deadline = new AbortController()
  // The timer fires also while a condition hangs, so that the failure says what was waited for.
  const expired = pause(timeoutMs, 'expired' as const, { signal: deadline.signal }).catch(() => 'expired' as const)
  let last = 'never answered'
  try {
    for (;;) {
      const answer = await Promise.race([ask(condition), expired])
      if (answer === 'expired') break
      if ('value' in answer && answer.value) return answer.value as Exclude<T, Falsy>
      last = 'value' in answer ? `last value: ${inspect(answer.value)}` : `last error: ${inspect(answer.error)}`
      if ((await Promise.race([pause(pollIntervalMs), expired])) === 'expired') break
    }
  } finally {
    deadline.abort()
  }
  const described = typeof options.describe === 'string' ? options.describe : options.describe()
  throw new Error(`Waited ${timeoutMs} ms in vain until ${described}; ${last}`)
}

async function ask<T>(condition: () => T | Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await condition() }
  } catch (error) {
    return { error }
  }
}
