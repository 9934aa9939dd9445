import type { BaseCtx } from '@rapport/core/context.ts'
import { findPublicForm, toPublicForm, versionOf } from '@rapport/core/forms/forms.ts'
import { LRUCache } from 'lru-cache'

/** A form as the world gets it, ready to be sent. */
interface Sendable {
  body: string
  etag: string
}

export interface PublicFormCache {
  /** Throws as `findPublicForm` does. */
  get(ctx: BaseCtx, id: string): Promise<Sendable>
  /** It has changed. Other processes see that within a second. */
  drop(id: string): void
}

/**
 * Spares the database what every visitor of a page asks for. Kept for a second, and however many ask at once, one
 * looks it up.
 */
export function createPublicFormCache(): PublicFormCache {
  const cache = new LRUCache<string, Sendable, BaseCtx>({
    max: 1_000,
    maxSize: 32 * 1_048_576,
    sizeCalculation: ({ body }) => body.length,
    ttl: 1_000,
    fetchMethod: async (id, _stale, { context }) => {
      const row = await findPublicForm(context, id)
      return { body: JSON.stringify(toPublicForm(row)), etag: `"${versionOf(row)}"` }
    },
  })
  return {
    get: (ctx, id) => cache.forceFetch(id, { context: ctx }),
    drop: (id) => void cache.delete(id),
  }
}
