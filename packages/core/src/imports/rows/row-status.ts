/** What a row says about emails to a person, from its columns or properties. */
import { z } from 'zod'
import type { FileStatus } from '../../db/schema/imports.ts'
import type { Issue } from '../../kernel/errors.ts'
import { SingleLine } from '../../kernel/validation.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { parseMoment } from './file-moment.ts'
import { readStatusWord, unknownStatus } from './file-status.ts'

export interface RowStatus {
  /** Of each column with one, and of every row. */
  statuses: FileStatus[]
  /** When the person consented, and from which address, as the source of the file says. */
  confirmedAt?: Date | undefined
  optInAddress?: string | undefined
  /** When the person opted out, or the address bounced. */
  unsubscribedAt?: Date | undefined
}

/** Channels of Brevo, such as `[email_marketing|sms_marketing]`. */
const hasEmailChannel = (text: string) => text.includes('email_marketing')

const statusByBoolean = new Map<string, FileStatus>([
  ['true', 'OPTED_OUT'],
  ['false', 'CONFIRMED'],
  ['', 'NONE'],
])

/** The columns with a status. An empty cell is read too, because it confirms nothing. */
const statusReaders = {
  status: readStatusWord,
  'resend.unsubscribed': (text: string) => statusByBoolean.get(text.trim().toLowerCase()),
  'brevo.subscribed': (text: string): FileStatus => (hasEmailChannel(text) ? 'CONFIRMED' : 'NONE'),
  'brevo.blocklisted': (text: string): FileStatus => (hasEmailChannel(text) ? 'OPTED_OUT' : 'CONFIRMED'),
}
type StatusColumn = keyof typeof statusReaders
const statusColumns = Object.keys(statusReaders) as StatusColumn[]
const messages: Partial<Record<StatusColumn, string>> = { 'resend.unsubscribed': 'must be true or false' }
/** Only headers of the systems' own files map to these. */
export const ofSourcesOnly: readonly string[] = statusColumns.filter((column) => column !== 'status')

export const isStatusColumn = (column: string | null): column is StatusColumn =>
  column !== null && Object.hasOwn(statusReaders, column)

const dayMs = 86_400_000
const momentMessage =
  'must be a moment such as 2026-11-21T06:35:49Z or 2026-11-21 06:35:49, or a date such as 2026-11-21'

/** A moment without a time zone can seem to be in the future for some hours: it becomes the present. */
function readMoment(text: string): Date | undefined {
  const moment = parseMoment(text)
  const now = Date.now()
  return moment && moment.getTime() <= now + dayMs ? new Date(Math.min(moment.getTime(), now)) : undefined
}

const optionalText = z.string().nullable().optional()
export const Moment = optionalText.transform((text, check) => {
  if (!text?.trim()) return undefined
  const moment = readMoment(text)
  if (moment) return moment
  check.addIssue({ code: 'custom', message: parseMoment(text) ? 'must not be in the future' : momentMessage })
  return z.NEVER
})

/** What else a row says about emails. */
const details = { confirmedAt: Moment, unsubscribedAt: Moment, optInAddress: SingleLine(100).nullable().optional() }
export const statusProperties: readonly string[] = [...statusColumns, ...Object.keys(details)]

/** Reads what a row says about emails. A value that is wrong is an issue, and hides none of the others. */
export function parseStatus(
  given: Readonly<Record<string, unknown>>,
  ofEveryRow: readonly FileStatus[],
): { status: RowStatus | undefined; issues: Issue[] } {
  const issues: Issue[] = []
  const read = <Value>(name: string, schema: z.ZodType<Value>): Value | undefined => {
    const { data, error } = schema.safeParse(given[name])
    for (const { message } of error ? toIssues(error) : []) issues.push({ path: name, message })
    return data
  }
  const ofRow = statusColumns.flatMap((column) =>
    given[column] === undefined ? [] : (read(column, statusOf(column)) ?? []),
  )
  const status = {
    statuses: [...ofEveryRow, ...ofRow],
    confirmedAt: read('confirmedAt', details.confirmedAt),
    unsubscribedAt: read('unsubscribedAt', details.unsubscribedAt),
    optInAddress: read('optInAddress', details.optInAddress) || undefined,
  }
  const isSaid = ofEveryRow.length > 0 || statusProperties.some((name) => given[name] !== undefined)
  return { status: isSaid ? status : undefined, issues }
}

const statusOf = (column: StatusColumn) =>
  optionalText.transform((text, check) => {
    const status = statusReaders[column](text ?? '')
    if (status) return status
    check.addIssue({ code: 'custom', message: messages[column] ?? unknownStatus })
    return z.NEVER
  })
