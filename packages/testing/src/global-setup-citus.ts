/** Vitest global setup like `global-setup.ts`, with the Citus cluster of CITUS_DATABASE_URL. */
import type { TestProject } from 'vitest/node'
import { startServices } from './services.ts'
import { coordinatorUrl } from './postgres/citus-cluster.ts'
import { readNodes } from './postgres/citus.ts'

let stop: (() => Promise<void>) | undefined

export async function setup(project: TestProject): Promise<void> {
  const started = await startServices({ nodes: await readNodes(coordinatorUrl ?? '') })
  stop = started.stop
  project.provide('testServices', started.services)
}

export async function teardown(): Promise<void> {
  await stop?.()
}
