/** Holds every statement of a simulated process until the scheduler decides what happens to it. */
import type pg from 'pg'
import { currentTask, type Scheduler } from './scheduler.ts'
import type { Connection, SimulatedProcess, Task, TraceEntry } from './tasks.ts'

/** What may happen to a statement, apart from that it passes. */
export const statementFaults = ['response lost', 'lost', 'late', 'fails'] as const

/** A statement that was sent, its row in the trace, and how to execute it. */
interface SentStatement {
  label: string
  lock: string
  task?: Task
  entry: TraceEntry
  query: () => Promise<pg.QueryResult>
}

type Query = (...parameters: unknown[]) => Promise<pg.QueryResult>
type Callback = (error: unknown, result?: pg.QueryResult) => void

/** The process that a pool belongs to in the current run. Pools are kept for later runs. */
export interface PoolOwner {
  scheduler: Scheduler
  process: SimulatedProcess
}

/** Gates the connections of a pool. Statements outside of a simulated task pass at once. */
export function gateConnections(pool: pg.Pool, owner: PoolOwner): void {
  pool.on('connect', (client) => gateConnection(client, owner))
  const connect = pool.connect.bind(pool) as (callback?: unknown) => Promise<pg.PoolClient>
  pool.connect = ((callback?: (...parameters: unknown[]) => void) => {
    const connecting = owner.scheduler.whileBusy(connect())
    if (!callback) return connecting
    connecting.then(
      (client) => callback(undefined, client, (error?: Error) => client.release(error)),
      (error: unknown) => callback(error, undefined, () => {}),
    )
  }) as typeof pool.connect
}

function gateConnection(client: pg.PoolClient, owner: PoolOwner): void {
  const send = client.query.bind(client) as Query
  const { processID: pid } = client as pg.PoolClient & { processID: number }
  const endSession = client.end.bind(client)
  const connection: Connection = { pid, executing: undefined, end }
  let lostError: string | undefined
  let isFrozen = false
  let isEnding = false
  owner.process.connections.add(connection)

  function end(): void {
    if (isEnding || isFrozen || connection.executing) {
      isEnding = true
      return
    }
    isEnding = true
    owner.process.connections.delete(connection)
    owner.scheduler.sessionEnds(pid, endSession())
  }

  /** Executes a statement. The result is dropped if the process was killed in the meantime. */
  async function execute({ label, lock, task, entry, query }: SentStatement): Promise<pg.QueryResult> {
    const ended = Promise.withResolvers<void>()
    connection.executing = { label, lock, task, ended: ended.promise }
    owner.scheduler.executing.add(connection)
    try {
      const result = await query()
      entry.result = typeof result.rowCount === 'number' ? `${result.rowCount} rows` : 'ok'
      return result
    } catch (error) {
      entry.result = `error ${(error as { code?: string }).code ?? String(error)}`
      throw error
    } finally {
      owner.scheduler.executing.delete(connection)
      connection.executing = undefined
      ended.resolve()
      if (isEnding) {
        isEnding = false
        end()
      }
      // A killed process never continues.
      if (task?.process.isDead) await new Promise(() => {})
    }
  }

  function decide(outcome: string, statement: SentStatement): Promise<pg.QueryResult> {
    if (outcome === 'passes') return execute(statement)
    if (outcome === 'fails') return execute({ ...statement, query: () => send('select 1/0') })
    lostError = outcome === 'late' ? 'Query read timeout' : 'Connection terminated unexpectedly'
    if (outcome === 'response lost') return execute(statement).then(failLost, failLost)
    if (outcome === 'late') {
      isFrozen = true
      const { label, lock, query } = statement
      owner.scheduler.addLate({ label, lock }, (entry) => {
        isFrozen = false
        isEnding = true
        void execute({ label, lock, query, entry }).catch(() => {})
      })
    }
    return failLost()
  }
  const failLost = (): Promise<never> => Promise.reject(new Error(lostError))

  function gate({ name, text }: { name?: string | undefined; text: string }, query: SentStatement['query']) {
    const task = currentTask()
    if (!task || text.includes('set_config(')) return query()
    if (lostError !== undefined) return failLost()
    const label = describeStatement(name || text)
    const lock = lockedTable(text) ?? label
    const faults = label === 'rollback' ? [] : faultsOf(label)
    return owner.scheduler.wait({ task, label, lock, faults }, (outcome, entry) =>
      decide(outcome, { label, lock, task, entry, query }),
    )
  }

  client.query = ((...parameters: unknown[]) => {
    const callback = typeof parameters.at(-1) === 'function' ? (parameters.pop() as Callback) : undefined
    const [first] = parameters as [string | pg.QueryConfig]
    const result = gate(typeof first === 'string' ? { text: first } : first, () => send(...parameters))
    if (!callback) return result
    result.then((value) => callback(undefined, value), callback)
  }) as typeof client.query
  client.end = ((callback?: () => void) => {
    end()
    callback?.()
    return Promise.resolve()
  }) as typeof client.end
}

/** An error of PostgreSQL at BEGIN and COMMIT would be one of the connection. */
const faultsOf = (label: string) =>
  /^(begin|commit)/.test(label) ? statementFaults.filter((fault) => fault !== 'fails') : statementFaults

/** The table whose rows a statement locks. Two statements of any form may wait for one of its rows. */
const lockedTable = (text: string): string | undefined =>
  (/^\s*(?:update|delete from) "?(\w+)/.exec(text) ??
    (/\bfor (?:no key )?(?:update|share)\b/.test(text) ? /\bfrom "?(\w+)\b(?!\()/.exec(text) : undefined))?.[1]

function describeStatement(text: string): string {
  const [begin = ''] = text.split(';')
  return begin.replaceAll(/\s+/g, ' ').trim().slice(0, 72)
}
