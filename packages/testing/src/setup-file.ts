/**
 * Vitest setup of every test file: kills processes that the file left running, and fails if it left handles open or if
 * the application sent a statement that crosses workspaces or returned other columns than it declares, awaited another
 * server within a transaction, or in a request its turn, or wrote a subscription without the lock of its contact.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll } from 'vitest'
import { collectStatementResults, requireDeclaredColumns } from './postgres/collect-results.ts'
import { takeOutsideWaits, watchOutsideWaits } from './network/outside-waits-patch.ts'
import { takeUnlockedSubscriptions, watchSubscriptions } from './consent/unlocked-subscriptions-patch.ts'
import { killStartedProcesses } from './processes/processes.ts'
import { recordStatementsOfApplication, takeRecordedStatements } from './tenancy/record-statements-patch.ts'

/** Sockets take a moment to close, Vitest's own timers about 100 ms. Counted, as a starved process may lose seconds. */
const maxPauses = 100
const before = countOpenHandles()
recordStatementsOfApplication()
collectStatementResults()
watchOutsideWaits()
watchSubscriptions()

// Registered before the hooks of the test file, so it runs after them.
afterAll(async () => {
  await killStartedProcesses()
  let leaks = findLeaks()
  for (let count = 0; leaks.length > 0 && count < maxPauses; count += 1) {
    await pause(20)
    leaks = findLeaks()
  }
  if (leaks.length === 0) return
  throw new Error(
    `This file left open: ${leaks.join(', ')}. Close them; --detect-async-leaks shows where they were opened.`,
  )
})

afterAll(requireDeclaredColumns)

afterAll(() => {
  const waits = new Set(takeOutsideWaits())
  if (waits.size > 0) throw new Error(`No connection may be held meanwhile: ${[...waits].join('; ')}`)
})

afterAll(() => {
  const count = takeUnlockedSubscriptions()
  if (count > 0) throw new Error(`${count} times, subscriptions were written without the lock of their contact`)
})

afterAll(async () => {
  const statements = takeRecordedStatements()
  if (statements.length === 0) return
  const { requireOneWorkspace } = await import('./tenancy/require-one-workspace.ts')
  await requireOneWorkspace(statements)
})

function findLeaks(): string[] {
  const grown = [...countOpenHandles()].map(([kind, count]) => [kind, count - (before.get(kind) ?? 0)] as const)
  return grown.filter(([, count]) => count > 0).map(([kind, count]) => `${count} ${kind}`)
}

/** Counts the handles that keep the process alive, by kind. Pipes are left out, as Vitest uses them itself. */
function countOpenHandles(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) {
    if (/^(TCP|TLS|UDP|Process|FSEvent|Timeout)/.test(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return counts
}
