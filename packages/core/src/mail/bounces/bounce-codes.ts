/**
 * The class of each status code. The class decides what follows, so that no person is suppressed by the fault of a message,
 * of a sender, or of a receiving server on a bad day:
 *
 * | class   | what it says                             | what follows                                            |
 * |---------|------------------------------------------|---------------------------------------------------------|
 * | HARD    | the address does not exist               | the address is suppressed                               |
 * | SOFT    | everything else, and no code at all      | counted: see `soft-bounces.ts`                          |
 * | MESSAGE | the email is too large or damaged        | shown, never counted; may pause the campaign            |
 * | POLICY  | the server refuses the sender            | shown, never counted; may pause the campaign            |
 *
 * `bounce-words.ts` has the words that say more than a code.
 */
import type { BounceClass } from './bounce.schema.ts'

interface CodeRow {
  class: BounceClass
  /** Codes, or the start of codes if the row ends with a dot. */
  codes: readonly string[]
  source: string
}

/** Of several rows for a code, the first one counts. */
const codeRows: readonly CodeRow[] = [
  { class: 'HARD', codes: ['5.1.1', '5.1.2', '5.1.3', '5.1.6'], source: 'RFC 3463, 3.2: bad address, has moved' },
  { class: 'HARD', codes: ['5.1.10'], source: 'RFC 7505: null MX. Exchange: RecipientNotFound' },
  { class: 'HARD', codes: ['5.2.1'], source: 'RFC 3463, 3.3: mailbox disabled' },
  { class: 'HARD', codes: ['5.7.13', '5.7.17', '5.7.18'], source: 'RFC 5248, RFC 7293: disabled, or has a new owner' },
  { class: 'MESSAGE', codes: ['5.2.3', '5.3.4'], source: 'RFC 3463: the message is too long' },
  { class: 'MESSAGE', codes: ['5.6.'], source: 'RFC 3463, 3.7: content or media' },
  { class: 'POLICY', codes: ['5.1.7', '5.1.8'], source: 'RFC 3463, 3.2: the address of the sender' },
  { class: 'POLICY', codes: ['5.7.'], source: 'RFC 3463, 3.8: security or policy; Microsoft: 5.7.1 to 5.7.708' },
]

/**
 * Codes without details, which servers also use for an address that does not exist. The words of the response decide.
 * `5.4.1` and `5.1.351` are of Exchange Online, which reports unknown recipients with them.
 */
const bareCodes: ReadonlySet<string> = new Set(['5.0.0', '5.1.0', '5.2.0', '5.3.0', '5.5.0', '5.4.1', '5.1.351'])

export const isBareCode = (enhanced: string): boolean => bareCodes.has(enhanced)

const isOfRow = (code: string) => (start: string) => (start.endsWith('.') ? code.startsWith(start) : code === start)

/** The class of an enhanced status code (RFC 3463). */
export const classOfCode = (code: string): BounceClass =>
  codeRows.find(({ codes }) => codes.some(isOfRow(code)))?.class ?? 'SOFT'
