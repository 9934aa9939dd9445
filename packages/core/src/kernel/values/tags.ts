import { z } from 'zod'
import { SingleLine } from '../validation.ts'

/** An empty tag is none: forms and Rails send `[""]` for no tags. */
export const TagsUpTo = (max: number) =>
  z
    .array(SingleLine(100))
    .max(max, `must have at most ${max} tags`)
    .transform((tags) => [...new Set(tags)].filter((tag) => tag !== ''))

export const Tags = TagsUpTo(100)
