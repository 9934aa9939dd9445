import type { Ctx } from '@rapport/core/request/context.ts'
import { AppError, isDatabaseUnavailable } from '@rapport/core/kernel/errors.ts'
import {
  type ClaimedImport,
  claimImport,
  purgeImport,
  failImport,
  finishImport,
  releaseAndRequeueImport,
  releaseImport,
} from '@rapport/core/imports/import-claim.ts'
import { readChunks } from '@rapport/core/imports/read-chunks.ts'
import { writeChunk } from '@rapport/core/imports/write-chunk.ts'
import { delayUnclaimableWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { idOf } from '@rapport/core/kernel/ids.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { claimOrRelease, ctxOf, type WorkerDeps, runExclusively } from '../worker-deps.ts'

/**
 * Imports a file chunk by chunk, from where it stands. A kill costs the chunk in hand, which the next worker does again;
 * a stop lets it finish and puts the rest back.
 */
export function runImport(deps: WorkerDeps, job: WorkJob): Promise<void> {
  return runExclusively(deps, job.id, async () => {
    const ctx = ctxOf(deps, job)
    const claim = { id: idOf('imp', job.id), workerId: deps.workerId }
    const claimed = await claimOrRelease(
      () => claimImport(ctx, job.id, deps.workerId),
      async () => void (await releaseImport(ctx, claim)),
    )
    if (!claimed) return delayUnclaimableWork(deps.db, job.id)
    try {
      const result = await importChunks(deps, ctx, claimed)
      if (result === 'stopped') return await retryWhileDatabaseDown(() => releaseAndRequeueImport(ctx, claimed))
      if (result === 'lost') return
      await retryWhileDatabaseDown(() => finishImport(ctx, claimed))
    } catch (error) {
      if (isDatabaseUnavailable(error)) {
        await retryWhileDatabaseDown(() => releaseImport(ctx, claimed))
        // Not the error itself: the queue keeps what it says, and a failed statement says whose rows it was to write.
        throw new Error('The database was away amid an import', { cause: error })
      }
      // Of a failed statement only why, for the same reason.
      const reason = error instanceof Error && error.cause ? error.cause : error
      deps.log.error({ err: reason, requestId: ctx.requestId, importId: claimed.id }, 'an import cannot go on')
      await retryWhileDatabaseDown(() => failImport(ctx, claimed, toFailureReason(error)))
    }
    await purgeImport(ctx, claimed)
  })
}

/** `lost`: it is in other hands by now. The next chunk is read while PostgreSQL writes the one before. */
async function importChunks(deps: WorkerDeps, ctx: Ctx, claimed: ClaimedImport): Promise<'done' | 'stopped' | 'lost'> {
  let writing: Promise<'written' | 'lost'> = Promise.resolve('written')
  for await (const chunk of readChunks(ctx, claimed)) {
    if ((await writing) === 'lost') return 'lost'
    if (deps.stopping.aborted) return 'stopped'
    writing = retryWhileDatabaseDown(() => writeChunk(ctx, claimed, chunk))
    // Awaited in the next round, or never when reading fails: what it says then makes no difference.
    writing.catch(() => {})
  }
  return (await writing) === 'lost' ? 'lost' : 'done'
}

function toFailureReason(error: unknown): string {
  // Nothing else that it needs can go.
  if (error instanceof AppError && error.code === 'not_found') return 'The list was deleted'
  return 'The import cannot go on from here, for a reason that is no fault of the file'
}
