/**
 * Notices when the application writes subscriptions in a transaction that has locked no contact before. That there is one
 * statement which does is checked by `conventions/table-owners.test.ts`.
 */
import pg from 'pg'

const locksContacts = /(?:insert into|update) "?contacts\b|\bcontacts\b[^]*\bfor no key update/i
const writesSubscriptions = /^\s*insert into subscriptions\b[^]*\bdo update\b/i

const locked = new WeakSet<object>()
let unlocked = 0
let isWatching = false

/** How many were noticed since the last call. */
export function takeUnlockedSubscriptions(): number {
  const count = unlocked
  unlocked = 0
  return count
}

/** Starts to watch, once per Vitest worker. */
export function watchSubscriptions(): void {
  if (isWatching) return
  isWatching = true
  const prototype: { query: unknown } = pg.Client.prototype
  const query = prototype.query as (...parameters: unknown[]) => unknown
  prototype.query = function (this: object, ...parameters: unknown[]) {
    const [given] = parameters
    const text = typeof given === 'string' ? given : (given as { text?: unknown }).text
    if (typeof text === 'string') {
      if (text.startsWith('begin')) locked.delete(this)
      if (locksContacts.test(text)) locked.add(this)
      else if (writesSubscriptions.test(text) && !locked.has(this)) unlocked += 1
    }
    return query.apply(this, parameters)
  }
}
