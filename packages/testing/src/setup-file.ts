/** What Vitest runs inside every test file: what the file leaves running is ended, and what it leaves open fails it. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll } from 'vitest'
import { killStartedProcesses } from './processes/processes.ts'

/** Sockets take a moment to close; Vitest's own timers a tenth of a second. */
const graceMs = 2_000
const before = countOpenHandles()

// Registered before the file's own hooks, so run after them.
afterAll(async () => {
  await killStartedProcesses()
  const deadline = Date.now() + graceMs
  let leaks = findLeaks()
  while (leaks.length > 0 && Date.now() < deadline) {
    await pause(20)
    leaks = findLeaks()
  }
  if (leaks.length === 0) return
  throw new Error(
    `This file leaves open: ${leaks.join(', ')}. Close what it opened; --detect-async-leaks shows where that was.`,
  )
})

function findLeaks(): string[] {
  const grown = [...countOpenHandles()].map(([kind, count]) => [kind, count - (before.get(kind) ?? 0)] as const)
  return grown.filter(([, count]) => count > 0).map(([kind, count]) => `${count} ${kind}`)
}

/** What keeps the process alive, by kind. Pipes are left out: they are how Vitest talks to us. */
function countOpenHandles(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) {
    if (/^(TCP|TLS|UDP|Process|FSEvent|Timeout)/.test(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return counts
}
