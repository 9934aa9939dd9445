/**
 * Which mails get a connection to the mail server: as many as there are connections, so that none waits in the pool,
 * where it could not be asked about. Mails to servers that hang hold their connections for up to 30 seconds, so neither
 * campaigns nor the emails of one workspace get all of them.
 */
import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'

/** Whose connections a mail uses: those of campaigns, of the emails of one workspace, or of other single mails. */
export type MailSource = 'campaign' | 'single' | WorkspaceId

export const mailConnections = 25
const keptFromCampaigns = 5

interface Waiting {
  source: MailSource
  start: () => void
}

export interface ConnectionSlots {
  /** Resolves once a connection is free for the mail: single mails before those of campaigns. */
  take(source: MailSource): Promise<void>
  free(source: MailSource): void
}

export function createConnectionSlots(): ConnectionSlots {
  const used = new Map<MailSource, number>()
  const waiting: Record<'campaigns' | 'singles', Waiting[]> = { campaigns: [], singles: [] }
  let free = mailConnections
  const usedBy = (source: MailSource) => used.get(source) ?? 0

  function mayStart({ source }: Waiting): boolean {
    if (source === 'campaign') return free > keptFromCampaigns
    // A workspace uses at most 13, two use at most 19.
    return source === 'single' ? free > 0 : usedBy(source) < free
  }
  function startAll(): void {
    for (const queue of [waiting.singles, waiting.campaigns]) {
      for (let at = queue.findIndex(mayStart); at >= 0; at = queue.findIndex(mayStart)) {
        const [next] = queue.splice(at, 1)
        if (!next) return
        count(next.source, 1)
        next.start()
      }
    }
  }
  function count(source: MailSource, change: 1 | -1): void {
    free -= change
    if (usedBy(source) + change === 0) used.delete(source)
    else used.set(source, usedBy(source) + change)
  }
  return {
    take: (source) =>
      new Promise((start) => {
        waiting[source === 'campaign' ? 'campaigns' : 'singles'].push({ source, start })
        startAll()
      }),
    free(source) {
      count(source, -1)
      startAll()
    },
  }
}
