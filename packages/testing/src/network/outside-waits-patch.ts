/**
 * Notices when the application reads DNS or opens a connection to another server, or a request asks for its turn, while a
 * transaction holds a connection of the pool, and names the route. A name server, a receiver or the work of others may be slow on
 * purpose: then a few requests would hold all connections of a process.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel, subscribe } from 'node:diagnostics_channel'
import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import pg from 'pg'

interface OpenTransaction {
  isOpen: boolean
  /** The transaction of another connection, around this one. */
  outer: OpenTransaction | undefined
}

interface Handled {
  route?: { method?: string; url?: string }
}

const current = new AsyncLocalStorage<OpenTransaction>()
const handled = new AsyncLocalStorage<Handled>()
const transactions = new WeakMap<object, OpenTransaction>()
const found: string[] = []
let isWatching = false

/** What was noticed since the last call. */
export const takeOutsideWaits = (): string[] => found.splice(0)

/** Starts to watch, once per Vitest worker. */
export function watchOutsideWaits(): void {
  if (isWatching) return
  isWatching = true
  const channel = tracingChannel<Handled, Handled>('fastify.request.handler')
  channel.start.bindStore(handled, (message) => message)
  watchTransactions()
  for (const name of ['resolveTxt', 'resolveCname', 'resolveMx', 'resolve4', 'resolve6'] as const)
    notify(dns.Resolver.prototype, name, () => note('DNS'))
  notify(dns, 'lookup', () => note('DNS'))
  syncBuiltinESMExports()
  subscribe('undici:request:create', () => note('HTTP'))
  // Of requests, as tests call core within their own transactions. The name is that of `turns` in `limit-in-turns.ts`.
  subscribe('rapport:turns', () => {
    if (handled.getStore()) note('its turn')
  })
  notify(net.Socket.prototype, 'connect', () => {
    if (isInTransaction() && !isOfStore(new Error('connecting').stack ?? '')) note('a server')
  })
}

function watchTransactions(): void {
  notify(pg.Client.prototype, 'query', function (this: object, text) {
    if (typeof text === 'string' && text.startsWith('begin')) {
      const outer = current.getStore()
      const opened = { isOpen: true, outer: outer && findOpen(outer) }
      transactions.set(this, opened)
      // For the rest of the function that began the transaction, and for all that it awaits.
      current.enterWith(opened)
    }
    const ended = text === 'commit' || text === 'rollback' ? transactions.get(this) : undefined
    if (ended) ended.isOpen = false
  })
}

const findOpen = (transaction: OpenTransaction): OpenTransaction | undefined =>
  transaction.isOpen ? transaction : transaction.outer && findOpen(transaction.outer)

/** The pools of PostgreSQL and Redis connect when they need to. */
const isOfStore = (stack: string) => /node_modules\/(?:pg|pg-pool|ioredis|bullmq)\//.test(stack)

/** Calls `onCall` before each call of a method. */
function notify(target: object, name: string, onCall: (this: object, ...parameters: unknown[]) => void): void {
  const methods = target as Record<string, (...parameters: unknown[]) => unknown>
  const method = methods[name] ?? (() => {})
  methods[name] = function (this: object, ...parameters: unknown[]) {
    onCall.apply(this, parameters)
    return method.apply(this, parameters)
  }
}

const isInTransaction = () => {
  const transaction = current.getStore()
  return transaction !== undefined && findOpen(transaction) !== undefined
}

function note(what: string): void {
  if (!isInTransaction()) return
  const { method = '', url = '' } = handled.getStore()?.route ?? {}
  found.push(`${url ? `${method} ${url}` : 'work'} awaits ${what} within a transaction`)
}
