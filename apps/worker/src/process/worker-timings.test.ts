import { expect, test } from 'vitest'
import { defaultTimings } from './worker-timings.ts'

test('the real worker has the intervals and timeouts that the documentation names', () => {
  expect(defaultTimings).toMatchObject({
    // docs/guides/webhook-delivery.md
    requestTimeoutMs: 10_000,
    // docs/architecture.md
    heartbeatIntervalMs: 3_000,
    heartbeatTimeoutMs: 15_000,
    republishMs: 10_000,
    // docs/sizing.md
    shutdownTimeoutMs: 60_000,
  })
})
