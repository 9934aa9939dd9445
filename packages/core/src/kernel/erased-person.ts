/** What the slices need to erase a deleted contact, step by step: see `operations/contacts/erase-contact.ts`. */
import type { ContactId } from './ids.ts'

export interface ErasedPerson {
  /** The deleted contact and the contacts that were merged into it. */
  contactIds: readonly ContactId[]
  /** The current and former addresses, in lower case. */
  emails: readonly string[]
  /** When the contact was deleted. Later records may belong to a new contact with the same address. */
  deletedAt: Date
}

/**
 * Does one step, in one transaction. `after` is the position of the last step, at first an empty string. A step can be
 * repeated.
 */
export type EraseStep<C> = (ctx: C, person: ErasedPerson, after: string) => Promise<StepResult>

export interface StepResult {
  /** The position of this step; undefined after the last step. */
  after?: string | undefined
  /** Former addresses of the person that this step has found. */
  formerEmails?: readonly string[]
  /** Whether the erasure must wait for work that other jobs have claimed. Then `after` is kept. */
  isWaiting?: boolean
}

const fullBatchAddresses = 20

/**
 * How many records one step searches for the addresses of the person: at most `size`. With thousands of former
 * addresses, `size` records would take longer than a statement may take.
 */
export const batchSizeFor = ({ emails }: ErasedPerson, size: number) =>
  Math.ceil(size / Math.max(1, emails.length / fullBatchAddresses))

/** Replaces an error text that may name the person. */
export const redactedText = 'Redacted: the contact was deleted'

/** LIKE patterns that find texts with an address of the person. The text must be in lower case. */
export const likePatterns = ({ emails }: ErasedPerson) =>
  emails.map((email) => `%${email.replace(/[\\%_]/g, String.raw`\$&`)}%`)

/** Whether a text, or a text in a JSON value, contains an address of the person: not only as a part of a longer one. */
export function isNamedIn({ emails }: Pick<ErasedPerson, 'emails'>, value: unknown): boolean {
  if (typeof value === 'string') return createPattern(emails).test(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((child) => isNamedIn({ emails }, child))
}

/** "ada@example.com" is in "<ada@example.com>." and not in "lada@example.com" or "ada@example.com.au". */
function createPattern(emails: readonly string[]): RegExp {
  const escaped = emails.map((email) => email.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
  return new RegExp(
    String.raw`(?<![\p{L}\p{N}._%+-])(?:${escaped.join('|')})(?![-_]*[\p{L}\p{N}]|\.[\p{L}\p{N}])`,
    'iu',
  )
}
