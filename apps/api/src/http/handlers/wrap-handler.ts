import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'

/** The handler of any route, whatever its schemas are. */
export type Handler = (request: never, reply: never) => unknown

/** What a route may wrap its handler in. */
export type Wrapper = 'idempotent' | 'ifMatch'

/** Calls `handle`, which runs the handler inside, at most once. */
type Around = (request: FastifyRequest, reply: FastifyReply, handle: () => Promise<unknown>) => Promise<unknown>

const wrappers = new WeakMap<object, Wrapper>()

/**
 * Wraps a handler where its route stands. The result has the type of the handler inside, so that Fastify infers its types
 * from the schemas of the route. For this, TypeScript needs `IdParams('con')` in a constant outside of the route.
 */
export function wrapHandler<Inner extends Handler>(
  handler: Inner,
  { wrapper, around }: { wrapper: Wrapper; around: Around },
): Inner {
  const inner = handler as unknown as RouteHandlerMethod
  const outer: RouteHandlerMethod = function (request, reply) {
    return around(request, reply, async () => inner.call(this, request, reply))
  }
  return markHandler(wrapper, outer) as Inner
}

/** Marks a handler: the OpenAPI document, `docs/routes.md` and the rejection of `If-Match` follow from the mark. */
export function markHandler(wrapper: Wrapper, handler: RouteHandlerMethod): unknown {
  wrappers.set(handler, wrapper)
  return handler
}

export function isWrappedBy(wrapper: Wrapper, { handler }: { handler?: unknown }): boolean {
  return typeof handler === 'function' && wrappers.get(handler) === wrapper
}
