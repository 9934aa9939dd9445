/** The hooks that a route has of its own: Fastify takes one, several or none. */
export function hooksOf<Hook>(given: Hook | Hook[] | undefined): Hook[] {
  if (given === undefined) return []
  return Array.isArray(given) ? given : [given]
}
