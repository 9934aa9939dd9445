/** Prometheus metrics. Dashboards and alerts rely on their names. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { withTimeout } from '../kernel/concurrency/with-timeout.ts'

/** Creates the registry of a process. The global registry of prom-client stays empty. */
export const createRegistry = () => new Registry()

/** The name is prefixed with `rapport_`. */
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

/** Creates a histogram with buckets from 5 ms to 10 s. */
export function createDurationHistogram<Label extends string = never>(
  registry: Registry,
  { name, ...rest }: MetricOptions<Label>,
) {
  const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  return new Histogram<Label>({ name: `rapport_${name}`, registers: [registry], buckets, ...rest })
}

/**
 * Creates a gauge that is read on every scrape. `read` returns the labels and value of each sample. If it fails or
 * times out, the scrape has no samples of this gauge: an old value would look like a current one.
 */
export function createGauge<Label extends string = never>(
  registry: Registry,
  { name, read, labelNames = [], help }: MetricOptions<Label> & { read: () => Promise<Sample<Label>[]> },
): void {
  const gauge = new Gauge<Label>({ name: `rapport_${name}`, help, labelNames, registers: [registry], collect })
  async function collect() {
    // `reset` would set a gauge without labels to 0.
    if (labelNames.length === 0) gauge.remove()
    else gauge.reset()
    try {
      for (const { labels, value } of await withTimeout(read(), readTimeoutMs)) gauge.set(labels, value)
    } catch {}
  }
}

/** Longer than any timeout inside `read`. */
const readTimeoutMs = 3_000

/** Creates a gauge with a single value. */
export function createUnlabeledGauge(
  registry: Registry,
  options: { name: string; help: string; read: () => Promise<number> },
): void {
  createGauge(registry, { ...options, read: async () => [{ labels: {}, value: await options.read() }] })
}

/** Creates a gauge that is 1 if `check` succeeds and 0 if it fails or times out. */
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

export function registerRedisMetrics(registry: Registry, ping: () => Promise<unknown>): void {
  createUpGauge(registry, { name: 'redis_up', help: 'Whether this process can reach Redis', check: ping })
}
