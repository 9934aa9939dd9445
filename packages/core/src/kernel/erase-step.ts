import type { ContactId } from './ids.ts'

/**
 * A step of the erasure of a deleted contact: see `operations/contacts/erase-contact.ts`. It does a part of its work in
 * one short transaction. `contactIds` are the contact and the contacts that were merged into it. `after` is the
 * position of the last part, at first an empty string. A part can be repeated.
 */
export type EraseStep<C> = (ctx: C, contactIds: readonly ContactId[], after: string) => Promise<StepResult>

export interface StepResult {
  /** The position of this part; undefined after the last part. */
  after?: string | undefined
  /** Whether the part must be repeated later, because another job has not recorded its outcome yet. */
  shouldRetry?: boolean
}

/** Replaces an error text of a deleted contact. */
export const redactedText = 'Redacted: the contact was deleted'
