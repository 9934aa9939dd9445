/** What a row says about emails to a person, from its columns or properties. */
import type { FileStatus } from '../../db/schema/imports.ts'
import type { Issue } from '../../kernel/errors.ts'
import { SingleLine } from '../../kernel/validation.ts'
import { type Timestamp, timestampAt } from '../../kernel/values/timestamps.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { isZeroDate, parseMoment } from '../words/file-moment.ts'
import { readStatus, statusColumns, unknownValue } from '../words/status-columns.ts'
import { isOptOut } from '../words/statuses.ts'
import { isHidden, isMissing, readYesNo } from '../words/yes-no-words.ts'
import type { Values } from './row-values.ts'

export interface RowStatus {
  /** Of each column with one, and of every row. */
  statuses: FileStatus[]
  /** When the person consented, and from which address, as the source of the file says. */
  confirmedAt?: Timestamp | undefined
  optInAddress?: string | undefined
  /** When the person opted out, or the address bounced. */
  unsubscribedAt?: Timestamp | undefined
  /** What an export of Rapport alone says. The contact here may have it already: then it says nothing new. */
  exported?: FileStatus | undefined
}

const dayMs = 86_400_000
const momentMessage =
  'must be a moment such as 2026-11-21T06:35:49Z or 2026-11-21 06:35:49, or a date such as 2026-11-21'

/** A moment without a time zone can seem to be in the future for some hours: it becomes the present. */
export function readMoment(text: string): { at: Timestamp } | { message: string; isNone?: boolean } {
  const moment = parseMoment(text)
  const now = Date.now()
  // Programs write the number zero as this date.
  if (moment?.getTime() === 0) return { message: 'is the start of 1970, which stands for no date', isNone: true }
  if (moment && moment.getTime() <= now + dayMs) return { at: timestampAt(Math.min(moment.getTime(), now)) }
  return { message: moment ? 'must not be in the future' : momentMessage }
}

/** JSON has numbers and booleans too. Undefined for a value that is missing, also as a date of zeros. */
function toText(value: unknown): string | undefined {
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  if (typeof text === 'string' && isHidden(text)) return text
  return typeof text !== 'string' || isMissing(text) || isZeroDate(text) ? undefined : text
}

/** When a person left or an address bounced. `isYes` is true for every value but one that says no: see `warning`. */
function readLeaving(value: unknown): { isYes: boolean; at?: Timestamp; warning?: string } {
  const text = toText(value)
  if (text === undefined || readYesNo(text) === false) return { isYes: false }
  if (readYesNo(text)) return { isYes: true }
  const read = readMoment(text)
  return { isYes: true, ...('at' in read ? read : { warning: `${read.message}; recorded as now` }) }
}

const statusProperties: readonly string[] = [...statusColumns, 'confirmedAt', 'unsubscribedAt', 'optInAddress']
const saidNames = new Set(statusProperties)
export const isSaid = (name: string) => saidNames.has(name)

const OptInAddress = SingleLine(100)
  .refine((text) => !isHidden(text), 'is not shown by the program that wrote the file')
  .nullable()
  .optional()

interface ReadStatus {
  /** Undefined if neither the row nor the request says anything. */
  status: RowStatus | undefined
  issues: Issue[]
  warnings: Issue[]
}

/** Reads what a row says about emails. A value that is wrong hides none of the others. */
export function parseStatus(given: Values, ofEveryRow: readonly FileStatus[]): ReadStatus {
  const issues: Issue[] = []
  const confirmedAt = toText(given['confirmedAt'])
  const proof = confirmedAt === undefined ? undefined : readMoment(confirmedAt)
  if (proof && 'message' in proof && !proof.isNone) issues.push({ path: 'confirmedAt', message: proof.message })
  const address = OptInAddress.safeParse(given['optInAddress'])
  for (const { message } of address.error ? toIssues(address.error) : []) issues.push({ path: 'optInAddress', message })
  const leaving = readLeaving(given['unsubscribedAt'])
  const { emailSubscribedStatus, ...others } = given
  const stated = [...ofEveryRow, ...readStatuses(others, issues)]
  const summary = readStatuses({ emailSubscribedStatus }, issues)
  const statuses = [...stated, ...summary]
  if (leaving.isYes && !statuses.some(isOptOut)) statuses.push('UNSUBSCRIBED')
  const status = {
    statuses,
    confirmedAt: proof && 'at' in proof ? proof.at : undefined,
    optInAddress: address.data || undefined,
    unsubscribedAt: leaving.at,
    exported: leaving.isYes ? undefined : summary.find((one) => isOptOut(one) && !stated.includes(one)),
  }
  const hasSaid = ofEveryRow.length > 0 || statusProperties.some((name) => given[name] !== undefined)
  return {
    status: hasSaid ? status : undefined,
    issues,
    warnings: leaving.warning === undefined ? [] : [{ path: 'unsubscribedAt', message: leaving.warning }],
  }
}

/** Several columns of one kind have their values in an array. Equal ones are read once. */
function readStatuses(given: Values, issues: Issue[]): FileStatus[] {
  return statusColumns.flatMap((column) => {
    const value = given[column]
    if (value === undefined) return []
    return [...new Set<unknown>(Array.isArray(value) ? value : [value])].flatMap((one) => {
      const text = typeof one === 'boolean' || typeof one === 'number' ? String(one) : (one ?? '')
      const status = typeof text === 'string' ? readStatus(column, text) : undefined
      if (!status)
        issues.push({ path: column.startsWith('status.') ? 'status' : column, message: unknownValue(column) })
      return status ?? []
    })
  })
}
