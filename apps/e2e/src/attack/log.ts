/**
 * What the attack notes of each request: when it was sent and answered, and what a 2xx response means for the consent of
 * an address. It imports nothing of the code under attack.
 */

/** What ended, or may end, the consent of an address to lists. */
export type Reason = 'OPTED_OUT' | 'COMPLAINED' | 'BOUNCED' | 'MANUAL'
export type Source = 'LINK' | 'MAIL_EVENT' | 'API' | 'IMPORT'

/** An address, or a contact, whose address the judge finds. */
export interface Whom {
  address?: string | undefined
  contactId?: string | undefined
}

/** A list, or all of them, also those to come. */
export type Scope = string

export type Meaning =
  | ({ kind: 'no'; scope: Scope; reason: Reason; source: Source } & Whom)
  | ({ kind: 'removal'; list: string } & Whom)
  | { kind: 'erasure'; contactId: string }
  /** A caller with a credential says that the person has consented. */
  | { kind: 'grant'; list: string; address: string }
  | { kind: 'link'; list: string; address: string; mailedAt: number }
  /** The person takes back what they said by `of`. */
  | { kind: 'undo'; list: string; address: string; of: Request }
  | ({ kind: 'operatorUndo'; scope: Scope } & Whom)
  | { kind: 'lift'; address: string }
  | { kind: 'move'; contactId: string; from: string; to: string }
  | { kind: 'merge'; contactId: string; duplicateId: string; from: string; to: string }
  /** A visitor asks, which confirms no subscription. */
  | { kind: 'ask'; list: string; address: string }
  /** The contact has this address. */
  | { kind: 'contact'; contactId: string; address: string }

export interface Request {
  /** For example "POST /lists/A/subscribers ada@example.com CONFIRMED". */
  what: string
  verb: string
  sentAt: number
  /** Infinity until it is answered, and if no answer came. */
  endedAt: number
  /** 0 until it is answered, and if no answer came. */
  status: number
  means: Meaning[]
  /** What the response says about subscriptions. */
  shows?: Observation[]
}

/** Something that happened as if an address were mailable. */
export interface Observation {
  what: string
  /** Empty if only the contact is known. */
  address: string
  contactId?: string
  list: string
  /** A statement against it that ended before is certain to have come first. */
  notBefore: number
  /** A consent that was sent later came too late. */
  at: number
  /** Of a mail: when its campaign was sent. */
  campaignSentAt?: number
}

export const isAnswered = ({ status }: Request): boolean => status >= 200 && status < 400
/** An error of the client changed nothing. Everything else without an answer may have. */
export const mayHaveHappened = (request: Request): boolean => !(request.status >= 400 && request.status < 500)

export const all = 'all'

/** All requests about one person, with two addresses that no other person has. */
export interface PersonLog {
  name: string
  addresses: readonly string[]
  requests: Request[]
  observations: Observation[]
  /** What is shown at the end. */
  statuses: ShownStatus[]
}

export interface ShownStatus {
  address: string
  list: string
  status: string
}
