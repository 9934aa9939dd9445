/** Vitest global setup like `global-setup.ts`, with PostgreSQL 15. */
import type { TestProject } from 'vitest/node'
import { startTogether } from './start-together.ts'

let stop: (() => Promise<void>) | undefined

export async function setup(project: TestProject): Promise<void> {
  const started = await startTogether('postgres15', project)
  stop = started.stop
  project.provide('testServices', started.services)
}

export async function teardown(): Promise<void> {
  await stop?.()
}
