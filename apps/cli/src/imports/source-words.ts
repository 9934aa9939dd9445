/**
 * What an export says about a person, read from the words of its system. It is written without the rules of the import,
 * so that `--verify` does not repeat an error of theirs.
 */
import type { ImportOptions } from '@rapport/core/imports/imports.schema.ts'
import type { SourceName } from '@rapport/core/imports/columns/sources.ts'

/** The status of all rows of a file. */
export type FileStatus = NonNullable<ImportOptions['status']>

/**
 * `mailable`: the system sends campaigns to the person. `silent`: it does not. `refused`: it does not, because the person
 * opted out, complained or is blocked, or the address bounced. The last one of a person counts.
 */
export const words = ['mailable', 'silent', 'refused'] as const
export type Word = (typeof words)[number]

type Row = ReadonlyMap<string, string>

const hasEmail = (row: Row, column: string) => (row.get(column) ?? '').includes('email_marketing')

const wordsOfRow: Record<SourceName, (row: Row) => Word> = {
  listmonk(row) {
    const status = row.get('status')
    return status === 'enabled' ? 'mailable' : status === 'disabled' || status === 'blocklisted' ? 'refused' : 'silent'
  },
  mailchimp: (row) => (row.has('UNSUB_TIME') || row.has('CLEAN_TIME') ? 'refused' : 'mailable'),
  brevo(row) {
    if (hasEmail(row, '_BLOCKLISTED')) return 'refused'
    return !row.has('_SUBSCRIBED') || hasEmail(row, '_SUBSCRIBED') ? 'mailable' : 'silent'
  },
  loops(row) {
    const optIn = (row.get('optInStatus') ?? row.get('Double opt-in') ?? '').toLowerCase()
    const subscribed = (row.get('subscribed') ?? row.get('Subscribed') ?? '').toLowerCase()
    if (subscribed === 'false' || optIn === 'rejected') return 'refused'
    return subscribed === 'true' && optIn !== 'pending' ? 'mailable' : 'silent'
  },
  resend(row) {
    const unsubscribed = row.get('unsubscribed')
    return unsubscribed === 'false' ? 'mailable' : unsubscribed === 'true' ? 'refused' : 'silent'
  },
}

const wordOfStatus: Record<FileStatus, Word> = {
  CONFIRMED: 'mailable',
  PENDING: 'silent',
  NONE: 'silent',
  UNSUBSCRIBED: 'refused',
  OPTED_OUT: 'refused',
  MANUAL: 'refused',
  BOUNCED: 'refused',
  COMPLAINED: 'refused',
}

export const laterOf = (one: Word, other: Word): Word => (words.indexOf(one) > words.indexOf(other) ? one : other)

/** The cells of a row by their headers, as the system writes them; `ofFile` is the status of all rows of the file. */
export function readWord(source: SourceName, row: Row, ofFile: FileStatus | undefined): Word {
  const word = wordsOfRow[source](row)
  return ofFile ? laterOf(word, wordOfStatus[ofFile]) : word
}
