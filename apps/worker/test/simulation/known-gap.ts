/**
 * A known gap: claims of mails and recipients name the worker, not the attempt. So the undo of a lost claim that arrives
 * late, on a connection that was frozen, also undoes a later claim of the same worker, and the mail is sent twice.
 */
import type { TraceEntry } from './tasks.ts'
import type { BrokenPromise } from './world.ts'

const isUndo = ({ what }: TraceEntry) =>
  /^update "mails" .*"attempts" - 1|^update campaign_recipients set status = 'WAITING'/.test(what)
const isClaim = ({ what }: TraceEntry) => /^update "mails" .*"attempts" \+ 1|^claim recipients$/.test(what)
const hasChangedRows = ({ result }: TraceEntry) => /^[1-9]\d* rows$/.test(result)

/** Returns the promises that the gap does not explain: those about other mails, and those about other things. */
export function findUnexplained(broken: readonly BrokenPromise[], trace: readonly TraceEntry[]): BrokenPromise[] {
  const undone = new Set(trace.flatMap((entry, index) => findUndoneClaims(entry, trace.slice(0, index))))
  const isExplained = ({ text, uuid = '' }: BrokenPromise) =>
    undone.has(uuid) && /got (\d+ mails|a mail)$|outcome was recorded$/.test(text)
  return broken.filter((one) => !isExplained(one))
}

/** Returns the UUIDs whose claim a late statement undid, although its worker made it after the statement was sent. */
function findUndoneClaims(late: TraceEntry, before: readonly TraceEntry[]): string[] {
  const { sentAs, process, uuids = [] } = late.statement ?? {}
  if (!sentAs || !isUndo(late) || !hasChangedRows(late)) return []
  const laterClaims = before
    .slice(before.indexOf(sentAs))
    .filter((entry) => isClaim(entry) && hasChangedRows(entry) && entry.statement?.process === process)
  const claimed = new Set(laterClaims.flatMap(({ statement }) => statement?.uuids ?? []))
  return uuids.filter((uuid) => claimed.has(uuid))
}
