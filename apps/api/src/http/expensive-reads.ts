import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The request may read all records of its workspace, whatever its parameters are. */
    isExpensive?: boolean
  }
}

/** The parameters of listings that no index may serve: then, all records of the workspace are read. */
const expensiveParameters = /^(search|count|sort|filter|segmentId|tag|type|customField\..*)$/

/** Whether a request may occupy a processor of the database for tenths of a second. */
export function isExpensiveRead({ query, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.isExpensive ?? Object.keys(query ?? {}).some((name) => expensiveParameters.test(name))
}
