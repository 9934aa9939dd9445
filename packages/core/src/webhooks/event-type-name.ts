import { z } from 'zod'
import { withSuggestion } from '../kernel/suggestion.ts'

/** Only the first entries of an array get a suggestion, because the client chooses the number of entries. */
const maxSuggestions = 5

/** The schema of an event type in a request. An unknown type gets the message, and the nearest of the types. */
export function EventTypeName<const Types extends readonly string[]>(
  types: Types,
  message = 'must be an event type of GET /event-types',
) {
  return z.enum(types, {
    error: ({ input, path }) => {
      const index = path?.at(-1)
      if (typeof input !== 'string' || (typeof index === 'number' && index >= maxSuggestions)) return message
      return withSuggestion(message, input, types)
    },
  })
}
