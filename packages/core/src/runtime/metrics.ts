/** What every process tells Prometheus of itself, and the names that dashboards and alerts rely on. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { withTimeout } from '../kernel/with-timeout.ts'

/** An empty registry of a process. Nothing is kept of a process's figures outside it. */
export const createRegistry = () => new Registry()

/** Where a metric is kept, under `rapport_` and its name. */
interface MetricOptions<Label extends string> {
  name: string
  help: string
  labelNames?: readonly Label[]
}

export function createCounter<Label extends string = never>(
  registry: Registry,
  { name, ...rest }: MetricOptions<Label>,
) {
  return new Counter<Label>({ name: `rapport_${name}`, registers: [registry], ...rest })
}

/** With buckets for what takes milliseconds to seconds. */
export function createDurationHistogram<Label extends string = never>(
  registry: Registry,
  { name, ...rest }: MetricOptions<Label>,
) {
  const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  return new Histogram<Label>({ name: `rapport_${name}`, registers: [registry], buckets, ...rest })
}

/**
 * A gauge that is read whenever somebody asks. `read` answers the labels and value of each; what it does not answer is
 * left out, and so is all of it when it throws or takes long: an old figure would look like a present one.
 */
export function createGauge<Label extends string = never>(
  registry: Registry,
  { name, read, labelNames = [], help }: MetricOptions<Label> & { read: () => Promise<Sample<Label>[]> },
): void {
  const gauge = new Gauge<Label>({ name: `rapport_${name}`, help, labelNames, registers: [registry], collect })
  async function collect() {
    // After a reset, one without labels would be 0.
    if (labelNames.length === 0) gauge.remove()
    else gauge.reset()
    try {
      for (const { labels, value } of await withTimeout(read(), readTimeoutMs)) gauge.set(labels, value)
    } catch {}
  }
}

/** Longer than whatever a gauge asks may itself take to be given up. */
const readTimeoutMs = 3_000

/** The same for a single figure. */
export function createUnlabeledGauge(
  registry: Registry,
  options: { name: string; help: string; read: () => Promise<number> },
): void {
  createGauge(registry, { ...options, read: async () => [{ labels: {}, value: await options.read() }] })
}

/** 1 while `ask` is answered, 0 while it is not. */
export function createUpGauge(
  registry: Registry,
  options: { name: string; help: string; check: () => Promise<unknown> },
): void {
  const read = () =>
    withTimeout(options.check()).then(
      () => 1,
      () => 0,
    )
  createUnlabeledGauge(registry, { ...options, read })
}

export interface Sample<Label extends string = never> {
  labels: Partial<Record<Label, string>>
  value: number
}

/** Whether Redis is there. */
export function registerRedisMetrics(registry: Registry, ping: () => Promise<unknown>): void {
  createUpGauge(registry, { name: 'redis_up', help: 'Whether Redis answers this process', check: ping })
}
