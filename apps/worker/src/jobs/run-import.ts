import type { Ctx } from '@rapport/core/request/context.ts'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import {
  type ClaimedImport,
  claimImport,
  purgeImport,
  failImport,
  finishImport,
  releaseAndRequeueImport,
  releaseImport,
} from '@rapport/core/imports/import-claim.ts'
import { purgeIfCanceled } from '@rapport/core/imports/cancel-import.ts'
import { readChunks } from '@rapport/core/imports/read-chunks.ts'
import { writeChunk } from '@rapport/core/imports/write-chunk.ts'
import { delayUnclaimableWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { isSuspended } from '@rapport/core/request/suspended-workspace.ts'
import { idOf } from '@rapport/core/kernel/ids.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { claimOrRelease, ctxOf, type WorkerDeps, runExclusively } from '../worker-deps.ts'

/** A turn takes about a second. Then the import goes to the back of the queue, so that workspaces take turns. */
const chunksPerTurn = 5

/**
 * Imports a file chunk by chunk, starting after the last chunk that was written, and requeues the rest after its turn,
 * on shutdown and when the workspace is suspended. After a crash, the next worker repeats the current chunk.
 */
export function runImport(deps: WorkerDeps, job: WorkJob): Promise<void> {
  return runExclusively(deps, job.id, async () => {
    const ctx = ctxOf(deps, job)
    const claim = { id: idOf('imp', job.id), workerId: deps.workerId }
    const claimed = await claimOrRelease(
      deps,
      () => claimImport(ctx, job.id, deps.workerId),
      async () => void (await releaseImport(ctx, claim)),
    )
    if (!claimed) {
      if (!(await purgeIfCanceled(ctx, claim.id))) await delayUnclaimableWork(ctx, job.id)
      return
    }
    try {
      const result = await importChunks(deps, ctx, claimed)
      if (result === 'unfinished')
        return await retryWhileDatabaseDown(deps, () => releaseAndRequeueImport(ctx, claimed))
      if (result === 'lost') return
      await retryWhileDatabaseDown(deps, () => finishImport(ctx, claimed))
    } catch (error) {
      if (isDatabaseUnavailable(error)) {
        await retryWhileDatabaseDown(deps, () => releaseImport(ctx, claimed))
        // The queue stores the message. A failed statement's message contains personal data, so it is not rethrown.
        throw new Error('The database became unavailable during the import', { cause: error })
      }
      // For the same reason, only the cause of a failed statement is logged.
      const reason = error instanceof Error && error.cause ? error.cause : error
      const isOwner = await retryWhileDatabaseDown(deps, () => failImport(ctx, claimed, toFailureReason(error)))
      if (!isOwner) return
      deps.log.error({ err: reason, requestId: ctx.requestId, importId: claimed.id }, 'import failed')
    }
    await purgeImport(ctx, claimed)
  })
}

/**
 * Imports the chunks of one turn. Reads a chunk while PostgreSQL writes the previous one. Returns `lost` if the import
 * was canceled or another worker has claimed it.
 */
async function importChunks(
  deps: WorkerDeps,
  ctx: Ctx,
  claimed: ClaimedImport,
): Promise<'done' | 'unfinished' | 'lost'> {
  let count = 0
  let writing: Promise<'written' | 'lost'> = Promise.resolve('written')
  for await (const chunk of readChunks(ctx, claimed)) {
    if ((await writing) === 'lost') return 'lost'
    if (deps.stopping.aborted || (await isSuspended(ctx))) return 'unfinished'
    writing = retryWhileDatabaseDown(deps, () => writeChunk(ctx, claimed, chunk))
    // Prevents an unhandled rejection: if reading the next chunk fails, `writing` is never awaited.
    writing.catch(() => {})
    count += 1
    if (count === chunksPerTurn) break
  }
  if ((await writing) === 'lost') return 'lost'
  return count === chunksPerTurn ? 'unfinished' : 'done'
}

function toFailureReason(error: unknown): string {
  // The list is the only record that the import needs and that can be deleted.
  if (error instanceof AppError && error.code === 'not_found') return 'The list was deleted'
  return 'Import failed because of an internal error'
}
