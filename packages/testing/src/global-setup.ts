/** Vitest global setup of all files that need PostgreSQL and Redis: provides both and removes them afterwards. */
import type { TestProject } from 'vitest/node'
import type { RunningServices } from './services.ts'
import { startTogether } from './start-together.ts'

// Vitest calls setup and teardown once per project and loads this file again for each.
const shared = globalThis as { rapportTestServices?: { users: number } }
let starting: Promise<RunningServices> | undefined

export async function setup(project: TestProject): Promise<void> {
  const holder = (shared.rapportTestServices ??= { users: 0 })
  holder.users += 1
  starting = startTogether('services', project)
  project.provide('testServices', (await starting).services)
}

export async function teardown(): Promise<void> {
  const holder = shared.rapportTestServices
  if (!holder || --holder.users > 0) return
  // A failed start has already been reported and cleaned up.
  const running = await starting?.catch(() => undefined)
  await running?.stop()
}
