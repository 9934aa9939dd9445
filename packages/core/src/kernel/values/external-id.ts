import { z } from 'zod'

/** Controls, halves of surrogate pairs, invisible characters, and every space but that of the keyboard. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}]|[^\P{Z} ]/u

/**
 * The key of a person or company in the caller's own product. It is stored as it is sent: two keys that look alike but differ in a
 * byte are two keys, so text that a person cannot tell apart is rejected instead of cleaned.
 */
export const ExternalId = z
  .string()
  .min(1, 'must not be empty')
  .max(255, 'must have at most 255 characters')
  .refine((id) => !unprintable.test(id), 'must contain only printable characters')
  .refine((id) => id === id.trim(), 'must not begin or end with a space')
  .meta({ examples: ['user_1815'] })
