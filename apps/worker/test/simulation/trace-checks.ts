/** What the promises of several scenarios ask of a trace. */
import type { TraceEntry } from './tasks.ts'
import type { Sent } from './world.ts'

/** Whether a row is the commit of a call, by its name, also if the response of PostgreSQL was lost. */
export const isCommitOf =
  (call: string) =>
  ({ who, what, result }: TraceEntry): boolean =>
    who.includes(` ${call} `) && what === 'commit' && result === 'ok'

/** Whether a row is a commit of a call that arrives only after the call has given up. */
export const isLateCommitOf =
  (call: string) =>
  ({ who, what, outcome }: TraceEntry): boolean =>
    who.includes(` ${call} `) && what === 'commit' && outcome === 'late'

/** The claim of a group of recipients, or of a single mail. */
const claimPattern = /^(claim recipients|claim emails|update "work" set "token")/

/** Returns the mails that were claimed after a row of the trace. */
export function listClaimedAfter(row: number, sent: readonly Sent[], trace: readonly TraceEntry[]): Sent[] {
  return sent.filter(({ who, step }) => {
    const isClaim = (entry: TraceEntry, index: number) =>
      index < step && entry.who === who && claimPattern.test(entry.what)
    return row >= 0 && trace.findLastIndex(isClaim) > row
  })
}
