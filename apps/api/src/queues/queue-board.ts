import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { Queue } from 'bullmq'

/** Creates the plugin with the pages of the dashboard, without its password. */
export function createBoard(queues: readonly Queue[]): ReturnType<FastifyAdapter['registerPlugin']> {
  const adapter = new FastifyAdapter()
  adapter.setBasePath('/queues')
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue)),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Rapport queues', hideRedisDetails: true } },
  })
  // Use the API's error handler: the board's own handler exposes internal errors.
  adapter.setErrorHandler((error) => {
    throw error
  })
  return adapter.registerPlugin()
}
