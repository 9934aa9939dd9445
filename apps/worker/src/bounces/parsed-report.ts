import type { Bounce } from '@rapport/core/mail/bounces/classify-bounce.ts'

/** `emails` are the addresses that the report names. */
export type ParsedReport = { detail: string; emails: string[] } & (
  | { type: 'BOUNCE'; bounce: Bounce }
  | { type: 'COMPLAINT' }
)

export type IsRecipient = (email: string) => boolean
