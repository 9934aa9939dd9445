/**
 * Notices when the application reads DNS or opens a connection to another server while a transaction holds a connection
 * of the pool, and names the route. A name server or a receiver may be slow on purpose: then a few requests would hold all
 * connections of a process.
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
    notify(dns.Resolver.prototype, name, () => 'DNS')
  notify(dns, 'lookup', () => 'DNS')
  syncBuiltinESMExports()
  subscribe('undici:request:create', () => note('HTTP'))
  notify(net.Socket.prototype, 'connect', () =>
    isOfStore(new Error('connecting').stack ?? '') ? undefined : 'a server',
  )
}

function watchTransactions(): void {
  const { prototype } = pg.Client
  const query = prototype.query as (...parameters: unknown[]) => unknown
  prototype.query = function (this: object, ...parameters: unknown[]) {
    const [text] = parameters
    if (typeof text === 'string' && text.startsWith('begin')) {
      const outer = current.getStore()
      const opened = { isOpen: true, outer: outer && findOpen(outer) }
      transactions.set(this, opened)
      // For the rest of the function that began the transaction, and for all that it awaits.
      current.enterWith(opened)
    }
    const ended = text === 'commit' || text === 'rollback' ? transactions.get(this) : undefined
    if (ended) ended.isOpen = false
    return query.apply(this, parameters)
  } as typeof prototype.query
}

const findOpen = (transaction: OpenTransaction): OpenTransaction | undefined =>
  transaction.isOpen ? transaction : transaction.outer && findOpen(transaction.outer)

/** The pools of PostgreSQL and Redis connect when they need to. */
const isOfStore = (stack: string) => /node_modules\/(?:pg|pg-pool|ioredis|bullmq)\//.test(stack)

function notify<Name extends string>(
  target: Record<Name, unknown> | object,
  name: Name,
  describe: () => string | undefined,
): void {
  const methods = target as Record<Name, (...parameters: unknown[]) => unknown>
  const method = methods[name]
  methods[name] = function (this: unknown, ...parameters: unknown[]) {
    if (isInTransaction()) note(describe())
    return method.apply(this, parameters)
  }
}

const isInTransaction = () => {
  const transaction = current.getStore()
  return transaction !== undefined && findOpen(transaction) !== undefined
}

function note(what: string | undefined): void {
  if (what === undefined || !isInTransaction()) return
  const { method = '', url = '' } = handled.getStore()?.route ?? {}
  found.push(`${url ? `${method} ${url}` : 'work'} awaits ${what} within a transaction`)
}
