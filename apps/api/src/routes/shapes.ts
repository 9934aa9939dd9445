/** Pieces of route schemas that several routes share. */
import { Id, type IdPrefix } from '@rapport/core/kernel/ids.ts'
import { z } from 'zod'

/** `{id}` of a path. An id of the wrong form is answered as one that is not there. */
export function IdParams<Prefix extends IdPrefix>(prefix: Prefix) {
  return z.object({ id: Id(prefix) })
}

/** The query of a route that takes none: a parameter all the same is a mistake worth telling. */
export const NoQuery = z.strictObject({})

/** The body of a route that needs none: absent, or empty. */
export const NoBody = z.union([z.strictObject({}), z.array(z.never())]).nullish()

/** The answer of a route that has nothing to say but that it is done. */
export const Empty = z.null().describe('Empty')
