/**
 * Settings for transactions that look for PENDING deliveries. Their statements are planned once for each connection, and
 * these settings make them go by the index whatever the statistics say: a plan that is made while the table is empty would
 * later read all of it. Only the index of PENDING rows returns them in the order of `created_at`: with sorts off, the plan must use it.
 */
export const indexScanSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
}
