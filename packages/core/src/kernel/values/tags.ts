import { z } from 'zod'
import { SingleLine } from '../validation.ts'

/** An empty tag is none: forms and Rails send `[""]` for no tags. */
export const Tags = z
  .array(SingleLine(100))
  .max(100, 'must have at most 100 tags')
  .transform((tags) => [...new Set(tags)].filter((tag) => tag !== ''))
