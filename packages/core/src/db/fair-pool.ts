/**
 * Kept for speed. Without it, the p99 of a workspace is 2.3 to 24 times as long while another one uses everything at once
 * (bench `busy-tenants` with less data, five alternating rounds on a busy machine, 2026-11-25): its requests wait behind
 * those of the other one for a connection, which the statement timeout and the request slots do not prevent.
 * `concurrent-requests.int.test.ts` shows that no request is lost and that other workspaces are served.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import { createFairSlots, type FairSlots } from '../kernel/concurrency/fair-slots.ts'
import type { WorkspaceId } from '../kernel/ids.ts'

const currentWorkspace = new AsyncLocalStorage<WorkspaceId>()

/** Runs work whose connections count for the workspace. Other work may use every connection. */
export function runForWorkspace<Result>(workspaceId: WorkspaceId, work: () => Result): Result {
  return currentWorkspace.run(workspaceId, work)
}

type Callback = Parameters<pg.Pool['connect']>[0]

type Config = Omit<pg.PoolConfig, 'onConnect'> & {
  max: number
  connectionTimeoutMillis: number
  /** Prepares a new connection. The pool waits for the promise, although the types of pg declare none. */
  onConnect: (client: pg.ClientBase) => Promise<void>
}

/**
 * A pool whose connections the workspaces share fairly, so that slow statements of one do not use up all connections: a
 * workspace may use half of those that the other workspaces leave.
 */
export class FairPool extends pg.Pool {
  readonly #slots: FairSlots
  readonly #maxWaitMs: number
  readonly #holders = new WeakMap<pg.PoolClient, WorkspaceId>()

  constructor(config: Config) {
    super(config)
    this.#slots = createFairSlots(config.max)
    this.#maxWaitMs = config.connectionTimeoutMillis
    this.on('release', (_error, client) => this.#releaseSlot(client))
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | void {
    const workspaceId = currentWorkspace.getStore()
    const connecting = workspaceId === undefined ? super.connect() : this.#connectFor(workspaceId)
    if (!callback) return connecting
    connecting.then(
      (client) => callback(undefined, client, (error?: Error | boolean) => client.release(error)),
      (error: unknown) => callback(error as Error, undefined, () => {}),
    )
  }

  async #connectFor(workspaceId: WorkspaceId): Promise<pg.PoolClient> {
    // The same error as without a free connection.
    if (!(await this.#slots.acquire(workspaceId, this.#maxWaitMs)))
      throw new Error('timeout exceeded when trying to connect')
    try {
      const client = await super.connect()
      this.#holders.set(client, workspaceId)
      return client
    } catch (error) {
      this.#slots.release(workspaceId)
      throw error
    }
  }

  #releaseSlot(client: pg.PoolClient): void {
    const workspaceId = this.#holders.get(client)
    if (workspaceId === undefined) return
    this.#holders.delete(client)
    this.#slots.release(workspaceId)
  }
}
