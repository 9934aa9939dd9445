/** Schemas and limits that several routes share. */
import { Id, type IdPrefix } from '@rapport/core/kernel/ids.ts'
import { z } from 'zod'

/** For templates, which have up to 1 MiB, and for batches of emails. JSON escapes can make both longer. */
export const largeBodyLimit = 4 * 1_048_576

/** `{id}` in a path. A malformed id returns 404, like an unknown one. */
export function IdParams<Prefix extends IdPrefix>(prefix: Prefix) {
  return z.object({ id: Id(prefix) })
}

/**
 * The query of a public route: extend it with the parameters of the route. Unknown parameters are ignored, because other
 * programs add their own to links: `utm_source`, `fbclid`, `v=2`. A route without `querystring` rejects every parameter.
 */
export const PublicQuery = z.object({})

/** The body of a route that needs none: absent or empty. */
export const EmptyBody = z.union([z.strictObject({}), z.array(z.never())]).nullish()

/** An empty response body. */
export const Empty = z.null().describe('Empty')
