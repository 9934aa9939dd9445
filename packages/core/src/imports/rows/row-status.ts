/** What a row says about emails to a person, from its columns or properties. */
import { z } from 'zod'
import type { FileStatus } from '../../db/schema/imports.ts'
import type { Issue } from '../../kernel/errors.ts'
import { SingleLine } from '../../kernel/validation.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { parseMoment } from './file-moment.ts'
import { isOptOut, type OptOutStatus, readStatusWord, unknownStatus } from './file-status.ts'

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
export const statusColumns = Object.keys(statusReaders) as StatusColumn[]
/** Only headers of the systems' own files map to these. */
export const columnsOfSources = statusColumns.filter((column) => column !== 'status')

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

const statusOf = (column: StatusColumn, message: string) =>
  optionalText.transform((text, check) => {
    if (text === undefined) return undefined
    const status = statusReaders[column](text ?? '')
    if (status) return status
    check.addIssue({ code: 'custom', message })
    return z.NEVER
  })

const RowStatusInput = z.object({
  status: statusOf('status', unknownStatus),
  'resend.unsubscribed': statusOf('resend.unsubscribed', 'must be true or false'),
  'brevo.subscribed': statusOf('brevo.subscribed', unknownStatus),
  'brevo.blocklisted': statusOf('brevo.blocklisted', unknownStatus),
  confirmedAt: Moment,
  unsubscribedAt: Moment,
  optInAddress: SingleLine(100).nullable().optional(),
})
const statusProperties = Object.keys(RowStatusInput.shape)

type Properties = Record<string, unknown>

/** Separates what a row says about emails from the properties of its contact. */
export function splitStatus(row: Readonly<Properties>): { given: Properties; contact: Properties } {
  const [given, contact]: [Properties, Properties] = [{}, {}]
  for (const [name, value] of Object.entries(row)) (statusProperties.includes(name) ? given : contact)[name] = value
  return { given, contact }
}

/** Undefined if neither the row nor the request says anything. */
export function parseStatus(
  given: Readonly<Properties>,
  ofEveryRow: readonly FileStatus[],
): { status: RowStatus | undefined } | { issues: Issue[] } {
  if (Object.keys(given).length === 0)
    return { status: ofEveryRow.length > 0 ? { statuses: [...ofEveryRow] } : undefined }
  const { data, error } = RowStatusInput.safeParse(given)
  if (error) return { issues: toIssues(error) }
  const { confirmedAt, unsubscribedAt, optInAddress } = data
  const statuses = [...ofEveryRow, ...statusColumns.flatMap((column) => data[column] ?? [])]
  return { status: { statuses, confirmedAt, unsubscribedAt, optInAddress: optInAddress || undefined } }
}

/** What stands against emails to the person. An opt-out counts even if another value of the row is invalid. */
export function readOptOuts(
  given: Readonly<Properties>,
  ofEveryRow: readonly FileStatus[],
): { statuses: OptOutStatus[]; at: Date | undefined } {
  const ofRow = statusColumns.map((column) => {
    const text = given[column]
    return typeof text === 'string' ? statusReaders[column](text) : undefined
  })
  const statuses = [...ofEveryRow, ...ofRow].filter((status) => status !== undefined && isOptOut(status))
  const at = given['unsubscribedAt']
  return { statuses: [...new Set(statuses)], at: typeof at === 'string' ? readMoment(at) : undefined }
}
