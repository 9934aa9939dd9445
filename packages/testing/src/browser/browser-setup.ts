/** Vitest global setup of the end-to-end tests: finds the browser once, before any file could download it. */
import type { TestProject } from 'vitest/node'
import { startTogether } from '../start-together.ts'

export async function setup(project: TestProject): Promise<void> {
  project.provide('testBrowser', await startTogether('browser', project))
}
