import { z } from 'zod'
import { SingleLine } from '../validation.ts'

/** An empty tag is none: forms and Rails send `[""]` for no tags. */
export function TagsUpTo(max: number) {
  const message = `must have at most ${max} tags`
  return (
    z
      .array(SingleLine(100))
      // With empty tags and duplicates, so that a million is refused before each one is read.
      .max(10 * max, message)
      .overwrite((tags) => [...new Set(tags)].filter((tag) => tag !== ''))
      .max(max, message)
  )
}

export const Tags = TagsUpTo(100)
