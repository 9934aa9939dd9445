/**
 * Kept for speed: a form that visitors load is read from the database once a second. Without it `GET /public/forms/{id}`
 * answers 0.11 times the requests a second and costs the API 9 times the processor time (the load of the bench
 * `public-form`, sixteen rounds in turns, 2026-11-22). `public-form-cache.int.test.ts` shows equal responses.
 */
import type { BaseCtx } from '@rapport/core/request/context.ts'
import { findPublicForm, toPublicForm, computeFormVersion } from '@rapport/core/forms/forms.ts'
import { LRUCache } from 'lru-cache'
import type { FormId } from '@rapport/core/kernel/ids.ts'

/** The response for a public form, ready to be sent. */
export interface PublicFormResponse {
  body: string
  etag: string
}

export interface PublicFormCache {
  /** Rejects as `findPublicForm` does. */
  get(ctx: BaseCtx, id: FormId): Promise<PublicFormResponse>
  /** Call it after a change. Other processes see the change within a second. */
  drop(id: FormId): void
}

const ttlMs = 900

/** Requests at once share one look-up. A form that does not exist is looked up each time. */
export function createPublicFormCache(): PublicFormCache {
  const cache = new LRUCache<FormId, PublicFormResponse, BaseCtx>({
    max: 1_000,
    maxSize: 32 * 1_048_576,
    sizeCalculation: ({ body }) => body.length,
    ttl: ttlMs,
    // A form that is dropped or evicted during its look-up is still the response to the requests that wait for it.
    ignoreFetchAbort: true,
    async fetchMethod(id, _stale, { context, options }) {
      const startedAt = performance.now()
      const response = await readPublicForm(context, id)
      // The age of an entry counts from the start of its look-up: a change that comes later may be missing in it.
      options.ttl = Math.max(1, ttlMs - (performance.now() - startedAt))
      return response
    },
  })
  return {
    get: (ctx, id) => cache.forceFetch(id, { context: ctx }),
    drop: (id) => void cache.delete(id),
  }
}

/** The simple way: reads the form from the database. */
export async function readPublicForm(ctx: BaseCtx, id: FormId): Promise<PublicFormResponse> {
  const row = await findPublicForm(ctx, id)
  return { body: JSON.stringify(toPublicForm(row)), etag: `"${computeFormVersion(row)}"` }
}
