/**
 * The baseline of the rate limits: Fastify and @fastify/rate-limit with its own Redis store. It counts requests per
 * client and route, behind a trusted proxy, like the API.
 */
import rateLimit from '@fastify/rate-limit'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import Fastify from 'fastify'
import { Redis } from 'ioredis'

const { PORT, REDIS_URL = '' } = inheritedEnvironment()
const redis = new Redis(REDIS_URL)
const app = Fastify({ trustProxy: 'loopback' })
await app.register(rateLimit, { redis, global: false })

let bytes = ''

app.put<{ Body: { bytes: string } }>('/bytes', async (request, reply) => {
  bytes = request.body.bytes
  return reply.code(204).send()
})

app.get('/bytes', { config: { rateLimit: { max: 100, timeWindow: 60_000 } } }, (_request, reply) =>
  reply.type('application/json; charset=utf-8').send(bytes),
)

app.get('/', () => 'here')

await app.listen({ host: '127.0.0.1', port: Number(PORT) })
process.on('disconnect', () => {
  app.server.closeAllConnections()
  void app.close().then(() => redis.disconnect())
})
