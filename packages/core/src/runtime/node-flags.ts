/**
 * The flags of Node that the API and the worker start with, on every way to start them (see the test). Without them V8
 * lets garbage pile up for as long as the machine has memory. On a machine of 23 GB they save 31 % of the API's resident
 * memory at rest (179 MB, not 259) and 44 % of the worker's (141 MB, not 252), and under load 23 and 37 % of the peak, at
 * no measurable processor time (the loads of the benches `read` and `webhooks`, 2026-11-22).
 */
export const nodeFlags = [
  // A collection of old objects begins when they have grown by half; by default, up to fourfold.
  '--heap-growing-percent=50',
  // Space for new objects, in MB.
  '--max-semi-space-size=4',
]
