import { releaseVisitorMails } from '@rapport/core/mail/budget/release-visitor-mails.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { ctxOf, type WorkerDeps } from '../process/worker-deps.ts'

/** Releases the mails that visitors of a workspace asked for, as its budgets allow. */
export async function releaseMails(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const { withheld, givenUp } = await releaseVisitorMails(ctxOf(deps, job))
  const { workspaceId } = job
  if (withheld > 0) deps.log.warn({ workspaceId, mails: withheld }, 'mails of visitors withheld')
  if (givenUp > 0) deps.log.warn({ workspaceId, mails: givenUp }, 'mails of visitors given up')
}
