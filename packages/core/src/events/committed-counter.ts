import type { Registry } from 'prom-client'
import { type Db, memoizePerDb } from '../db/client.ts'
import { afterCommit } from '../db/transaction.ts'
import { createCounter, createRegistry } from '../runtime/metrics.ts'

/** A Prometheus counter of changes to the database. Each process counts its own changes. */
export interface CommittedCounter<Label extends string> {
  /** Adds after the transaction of `db` has committed, or immediately outside a transaction. */
  add(db: Db, labels: Record<Label, string>, count: number): void
  /** Exports the counter. The series of `labels` start at zero, so that Prometheus sees their first increments. */
  register(registry: Registry, db: Db, labels: readonly Record<Label, string>[]): void
}

/** The name is prefixed with `rapport_`. */
export function createCommittedCounter<Label extends string>(
  options: Required<Parameters<typeof createCounter<Label>>[1]>,
): CommittedCounter<Label> {
  const counterOf = memoizePerDb((_pool: Db) => createCounter<Label>(createRegistry(), options))
  let additions = 0
  return {
    add(db, labels, count) {
      additions += 1
      // A unique key: all additions of a transaction count.
      afterCommit(db, `${options.name} ${additions}`, (pool) => counterOf(pool).inc(labels, count))
    },
    register(registry, db, labels) {
      const counter = counterOf(db)
      for (const series of labels) counter.inc(series, 0)
      registry.registerMetric(counter)
    },
  }
}
