import type { BaseCtx } from '@rapport/core/request/context.ts'
import { findPublicForm, toPublicForm, versionOf } from '@rapport/core/forms/forms.ts'
import { LRUCache } from 'lru-cache'

/** A form as the world gets it, ready to be sent. */
export interface Sendable {
  body: string
  etag: string
}

export interface PublicFormCache {
  /** At once what is known; otherwise a promise, which rejects as `findPublicForm` does. */
  get(ctx: BaseCtx, id: string): Sendable | Promise<Sendable>
  /** It has changed. Other processes see that within a second. */
  drop(id: string): void
}

/**
 * Spares the database what every visitor of a page asks for. Kept for a second from when it was asked for, and however
 * many ask at once, one looks it up. A form that is not there is looked up each time.
 */
export function createPublicFormCache(): PublicFormCache {
  // The clock is read once in a tenth of a second.
  const ages = { ttl: 900, ttlResolution: 100 }
  const cache = new LRUCache<string, Sendable | Promise<Sendable>>({ max: 1_000, maxSize: 32 * 1_048_576, ...ages })

  async function look(ctx: BaseCtx, id: string): Promise<Sendable> {
    const row = await findPublicForm(ctx, id)
    return { body: JSON.stringify(toPublicForm(row)), etag: `"${versionOf(row)}"` }
  }

  /** Unless it was dropped or looked up anew meanwhile. */
  function settle(id: string, looking: Promise<Sendable>, found?: Sendable) {
    if (cache.peek(id) !== looking) return
    if (found) cache.set(id, found, { size: found.body.length, noUpdateTTL: true })
    else cache.delete(id)
  }

  return {
    get(ctx, id) {
      const known = cache.get(id)
      if (known) return known
      const looking = look(ctx, id)
      cache.set(id, looking, { size: 1 })
      looking.then(
        (found) => settle(id, looking, found),
        () => settle(id, looking),
      )
      return looking
    },
    drop: (id) => void cache.delete(id),
  }
}
