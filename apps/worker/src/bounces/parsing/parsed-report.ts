import type { Bounce } from '@rapport/core/mail/bounces/classify-bounce.ts'

/** `emails` are the addresses that the report names. */
export type ParsedReport = { detail: string; emails: string[] } & (
  | { type: 'BOUNCE'; bounce: Bounce }
  | { type: 'COMPLAINT' }
)

export type IsRecipient = (email: string) => boolean

/** What a report says about one recipient. */
export interface Group {
  emails: string[]
  hasFailed: boolean
  bounce: Bounce
  detail: string
}

/** What a mail says about each of its recipients. */
export interface BounceReport {
  groups: Group[]
  /** The addresses of `groups` that are lists, of which a member bounced. */
  expanded?: string[]
  /** A person may have written the mail: it counts only if it names the recipient. */
  mustNameRecipient?: boolean
}

/** All that is read of a mail. It does not depend on the recipient, so that a mail for several is parsed once. */
export interface MailContent {
  /** The tokens of return paths anywhere in the mail. They may be forged. */
  tokens: string[]
  complaint?: ParsedReport
  bounce?: BounceReport
}
