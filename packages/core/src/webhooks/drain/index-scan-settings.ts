/**
 * Planner settings for transactions that read PENDING deliveries. A connection may keep the plan of a prepared
 * statement. These settings force an index scan regardless of the statistics: a plan from the time when the table was
 * empty would later read the whole table. With sorts disabled, the planner must use the index of PENDING rows, because
 * only that index returns rows in the order of `created_at`. `plan_cache_mode` is not among them, as a generic plan cannot
 * be distributed: see docs/scaling.md.
 *
 * Up to PostgreSQL 17, a plan that cannot avoid a disabled node has a cost of at least 10,000,000,000, for which
 * PostgreSQL compiles the plan with LLVM: `findBacklogs` took 600 ms instead of 2 ms.
 */
export const indexScanSettings = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  jit: 'off',
}
