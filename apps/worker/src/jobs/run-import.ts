import type { Ctx } from '@rapport/core/request/context.ts'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import {
  type ClaimedImport,
  claimImport,
  failImport,
  finishCanceledImport,
  finishImport,
} from '@rapport/core/imports/import-claim.ts'
import { purgeImport } from '@rapport/core/imports/purge-imports.ts'
import { importSteps } from '@rapport/core/imports/import-steps.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { isSuspended } from '@rapport/core/request/workspace-state.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { type RunEnd, runClaimed } from './run-claimed.ts'
import type { WorkerDeps } from '../process/worker-deps.ts'

/** A turn takes about a second. Then the import goes to the back of the queue, so that workspaces take turns. */
const stepsPerTurn = 5

/**
 * Imports a file step by step, starting after the last step that was saved, and leaves the rest to another job after
 * its turn, on shutdown and when the workspace is suspended. After a crash, the next job repeats the current step.
 */
export function runImport(deps: WorkerDeps, job: WorkJob): Promise<void> {
  return runClaimed(deps, job, { claim: claimImport, work: (ctx, claimed) => runClaimedImport(deps, ctx, claimed) })
}

async function runClaimedImport(deps: WorkerDeps, ctx: Ctx, claimed: ClaimedImport): Promise<RunEnd> {
  if (claimed.status === 'CANCELED') {
    await finishCanceledImport(ctx, claimed)
    return 'done'
  }
  try {
    if ((await runSteps(deps, ctx, claimed)) === 'requeue') return 'requeue'
    await retryWhileDatabaseDown(deps, () => finishImport(ctx, claimed))
  } catch (error) {
    // The queue stores the message. A failed statement's message contains personal data, so it is not rethrown.
    if (isDatabaseUnavailable(error))
      throw new Error('The database became unavailable during the import', { cause: error })
    const hasFailed = await retryWhileDatabaseDown(deps, () => failImport(ctx, claimed, toFailureReason(error)))
    if (!hasFailed) return 'requeue'
    // For the same reason, only the cause of a failed statement is logged.
    const err = error instanceof Error && error.cause ? error.cause : error
    const level = error instanceof AppError ? 'info' : 'error'
    deps.log[level]({ err, requestId: ctx.requestId, importId: claimed.id }, 'import failed')
  }
  await purgeImport(ctx, claimed)
  return 'done'
}

/**
 * Runs the steps of one turn. Reads a chunk while PostgreSQL writes the previous one. Returns `requeue` if the rest is
 * for another job, also because the import was canceled or the claim was lost.
 */
async function runSteps(deps: WorkerDeps, ctx: Ctx, claimed: ClaimedImport): Promise<'done' | 'requeue'> {
  let count = 0
  let running: Promise<'written' | 'lost'> = Promise.resolve('written')
  try {
    for await (const step of importSteps(ctx, claimed, deps.importRows)) {
      if ((await running) === 'lost' || deps.stopping.aborted || (await isSuspended(ctx))) return 'requeue'
      running = retryWhileDatabaseDown(deps, step)
      // Prevents an unhandled rejection while the next chunk is read.
      running.catch(() => {})
      count += 1
      if (count === stepsPerTurn) break
    }
    return (await running) === 'lost' || count === stepsPerTurn ? 'requeue' : 'done'
  } finally {
    // If reading the next chunk fails, the step before still ends first.
    await Promise.allSettled([running])
  }
}

/** Shown to the person who imports. */
function toFailureReason(error: unknown): { line?: number; message: string } {
  if (!(error instanceof AppError)) return { message: 'Import failed because of an internal error' }
  // The list is the only record that the import needs and that can be deleted.
  if (error.code === 'not_found') return { message: 'The list was deleted' }
  const line = error.details?.['line']
  return { ...(typeof line === 'number' && { line }), message: error.message }
}
