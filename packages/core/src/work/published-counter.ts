import type { Registry } from 'prom-client'
import { createCounter } from '../runtime/metrics.ts'

/** Counts the jobs that a process adds to the queues. */
export const createPublishedCounter = (registry: Registry) =>
  createCounter(registry, {
    name: 'jobs_published_total',
    help: 'Jobs added to the queues by this process',
    labelNames: ['queue'],
  })
