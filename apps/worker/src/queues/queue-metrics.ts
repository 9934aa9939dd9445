import { createGauge, createUpGauge } from '@rapport/core/runtime/metrics.ts'
import { type QueueName, queueNames } from '@rapport/core/work/queues.ts'
import type { Registry } from 'prom-client'
import type { QueueBackend, WorkQueue } from './queue-backend.ts'

/** Registers metrics about the queues. They are read from the queues at each scrape. */
export function registerQueueMetrics(
  registry: Registry,
  backend: QueueBackend,
  queueOf: (name: QueueName) => WorkQueue,
): void {
  createUpGauge(registry, {
    name: 'queues_up',
    help: 'Whether the queues accept writes of this worker',
    check: () => backend.probeWrites(),
  })
  createGauge(registry, {
    name: 'queue_jobs',
    help: 'Jobs in a queue by state',
    labelNames: ['queue', 'state'],
    read: async () => {
      const counts = queueNames.map(async (queue) => {
        const states = await queueOf(queue).getJobCounts('waiting', 'active', 'delayed', 'failed')
        return Object.entries(states).map(([state, value]) => ({ labels: { queue, state }, value }))
      })
      return (await Promise.all(counts)).flat()
    },
  })
  createGauge(registry, {
    name: 'queue_oldest_job_seconds',
    help: 'Age of the oldest waiting job in a queue',
    labelNames: ['queue'],
    read: () =>
      Promise.all(
        queueNames.map(async (queue) => {
          const [oldest] = await queueOf(queue).getJobs(['waiting'], 0, 0, true)
          return { labels: { queue }, value: oldest ? Math.max(0, Date.now() - oldest.timestamp) / 1_000 : 0 }
        }),
      ),
  })
}
