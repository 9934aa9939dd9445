import {
  createCounter,
  createDurationHistogram,
  createGauge,
  createRegistry,
  createUpGauge,
} from '@rapport/core/runtime/metrics.ts'
import { type QueueName, queueNames } from '@rapport/core/jobs/queues.ts'
import type { Registry } from 'prom-client'
import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import type { InterruptedCounts } from '@rapport/core/operations/orphaned-claims.ts'
import type { MailTransport } from '../smtp/mail-transport.ts'
import type { QueueBackend, WorkQueue } from '../queue-backend.ts'

export type WorkerMetrics = ReturnType<typeof createWorkerMetrics>

/** What a worker counts of its own doing, whether or not anybody asks. */
export function createWorkerMetrics(registry: Registry = createRegistry()) {
  const deliveries = createCounter(registry, {
    name: 'deliveries_total',
    help: 'Deliveries to webhooks by how they ended',
    labelNames: ['outcome'],
  })
  const mails = createCounter(registry, {
    name: 'mails_total',
    help: 'Mails handed to the mail server by how that ended',
    labelNames: ['outcome'],
  })
  // Shown from the start, so that the first is seen as an increase.
  for (const outcome of ['succeeded', 'failed', 'interrupted']) deliveries.inc({ outcome }, 0)
  for (const outcome of ['sent', 'deferred', 'refused', 'unknown', 'interrupted']) mails.inc({ outcome }, 0)
  return {
    registry,
    deliveries,
    deliverySeconds: createDurationHistogram(registry, {
      name: 'delivery_duration_seconds',
      help: 'How long receivers of webhooks took to answer',
    }),
    mails,
    jobSeconds: createDurationHistogram(registry, {
      name: 'job_duration_seconds',
      help: 'How long jobs took, by how they ended',
      labelNames: ['queue', 'outcome'],
    }),
    published: createCounter(registry, {
      name: 'relay_published_total',
      help: 'Jobs that the relay of this worker has added to the queues',
      labelNames: ['queue'],
    }),
    countInterrupted: (interrupted: InterruptedCounts) => {
      deliveries.inc({ outcome: 'interrupted' }, interrupted.deliveries)
      mails.inc({ outcome: 'interrupted' }, interrupted.mails)
    },
  }
}

/** The same transport, each mail counted. */
export function withMailMetrics(transport: MailTransport, { mails }: WorkerMetrics): MailTransport {
  return {
    async send(mail) {
      const outcome = await transport.send(mail)
      mails.inc({ outcome: toOutcomeLabel(outcome) })
      return outcome
    },
    close: () => transport.close(),
  }
}

function toOutcomeLabel(outcome: MailOutcome): string {
  if (outcome.kind === 'refused') return outcome.temporary ? 'deferred' : 'refused'
  return outcome.kind === 'sent' ? 'sent' : 'unknown'
}

/** Tells what the queues hold, as they see it themselves, and whether they can be reached. */
export function registerQueueMetrics(
  registry: Registry,
  backend: QueueBackend,
  queueOf: (name: QueueName) => WorkQueue,
): void {
  createUpGauge(registry, {
    name: 'queues_up',
    help: 'Whether this worker reaches the queues',
    check: async () => backend.ping?.(),
  })
  createGauge(registry, {
    name: 'queue_jobs',
    help: 'Jobs that a queue holds, by their state there',
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
    help: 'Age of the oldest job that waits in a queue for a worker',
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
