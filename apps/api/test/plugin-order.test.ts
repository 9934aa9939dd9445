import sensible from '@fastify/sensible'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { defaultTimings } from '../src/http/server/api-timings.ts'
import { authentication } from '../src/http/authentication.ts'
import { concurrentRequests } from '../src/http/concurrent-requests.ts'
import { crossOrigin } from '../src/http/cors.ts'
import { conditionalRequests } from '../src/http/conditional-requests/conditional-requests.ts'
import { rateLimits } from '../src/http/rate-limit/rate-limit.ts'
import { unknownRoutes } from '../src/http/unknown-routes.ts'

test.each([
  ['rate-limits', () => Fastify().register(sensible).register(rateLimits, { redis: undefined, probeMs: 0 })],
  ['cross-origin', () => Fastify().register(crossOrigin, { origins: [] })],
  ['unknown-routes', () => Fastify().register(sensible).register(unknownRoutes)],
  ['authentication', () => Fastify().register(authentication, { authenticate: () => Promise.reject(new Error()) })],
  ['conditional-requests', () => Fastify().register(conditionalRequests)],
  ['concurrent-requests', () => Fastify().register(concurrentRequests, defaultTimings)],
])('%s fails at boot when registered before its dependencies', async (name, build) => {
  await expect(Promise.resolve(build().ready())).rejects.toThrow(new RegExp(`dependency '.+' of plugin '${name}'`))
})
