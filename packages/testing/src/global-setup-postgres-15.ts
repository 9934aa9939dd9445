/** Vitest global setup like `global-setup.ts`, with PostgreSQL 15. */
import type { TestProject } from 'vitest/node'
import { startServices } from './global-setup.ts'
import { findPostgres15 } from './postgres/postgres-15.ts'

let stop: (() => Promise<void>) | undefined

export async function setup(project: TestProject): Promise<void> {
  const started = await startServices({ binaries: await findPostgres15() })
  stop = started.stop
  project.provide('testServices', started.services)
}

export async function teardown(): Promise<void> {
  await stop?.()
}
