/**
 * Kept for speed: reads a public form from the database about once per second. Without this cache,
 * `GET /public/forms/{id}` serves 0.11 times the requests per second and needs 9 times the CPU time in the API (load of
 * the bench `public-form`, sixteen alternating rounds, 2026-11-22). `public-form-cache.int.test.ts` shows that the
 * responses are equal.
 */
import { type BaseCtx, requireAtHost } from '@rapport/core/request/context.ts'
import { afterCommit } from '@rapport/core/db/transaction.ts'
import { findPublicForm, toPublicForm, computeFormVersion } from '@rapport/core/forms/forms.ts'
import { LRUCache } from 'lru-cache'
import type { FormId, WorkspaceId } from '@rapport/core/kernel/ids.ts'

/** The serialized response for a public form. */
export interface PublicFormResponse {
  body: string
  etag: string
  workspaceId: WorkspaceId
}

export interface PublicFormCache {
  /** Rejects with the errors of `findPublicForm`. */
  get(ctx: BaseCtx, id: FormId): Promise<PublicFormResponse>
  /** Call this after a change: takes effect with its commit. Other processes see the change within a second. */
  drop(ctx: BaseCtx, id: FormId): void
}

/** Concurrent requests share one lookup. A missing form is not cached. */
export function createPublicFormCache(ttlMs: number): PublicFormCache {
  const cache = new LRUCache<FormId, PublicFormResponse, BaseCtx>({
    max: 1_000,
    maxSize: 32 * 1_048_576,
    sizeCalculation: ({ body }) => body.length,
    ttl: ttlMs,
    // Requests that wait for a lookup get its result, even if the form is dropped or evicted meanwhile.
    ignoreFetchAbort: true,
    async fetchMethod(id, _stale, { context, options }) {
      const startedAt = performance.now()
      // Requests at any host share the lookup: `get` asks for the host of each.
      const anywhere = { ...context }
      delete anywhere.pagesHost
      const response = await readPublicForm(anywhere, id)
      // The entry's age counts from the start of the lookup: the result may lack changes made after that.
      options.ttl = Math.max(1, ttlMs - (performance.now() - startedAt))
      return response
    },
  })
  return {
    async get(ctx, id) {
      const response = await cache.forceFetch(id, { context: ctx })
      requireAtHost(ctx, response.workspaceId)
      return response
    },
    drop: (ctx, id) => afterCommit(ctx.db, `drop ${id}`, () => void cache.delete(id)),
  }
}

/** Reads the form from the database, without the cache. */
export async function readPublicForm(ctx: BaseCtx, id: FormId): Promise<PublicFormResponse> {
  const row = await findPublicForm(ctx, id)
  return { body: JSON.stringify(toPublicForm(row)), etag: `"${computeFormVersion(row)}"`, workspaceId: row.workspaceId }
}
