/**
 * Starts what the projects of a run need side by side. Vitest runs the global setups of the projects one after the other,
 * and a fresh clone creates a cluster for each PostgreSQL and downloads a browser.
 */
import type { TestProject } from 'vitest/node'
import { findTestBrowser } from './browser/find-test-browser.ts'
import { findPostgres15 } from './postgres/postgres-15.ts'
import { startServices } from './services.ts'

const tasks = {
  services: () => startServices(),
  postgres15: async () => startServices({ binaries: await findPostgres15() }),
  browser: () => findTestBrowser(),
}
type Task = keyof typeof tasks

/** What the global setups of a project ask for. */
const tasksOfProjects: Record<string, Task[]> = {
  integration: ['services'],
  'postgres-15': ['postgres15'],
  slow: ['services', 'browser'],
}

// Vitest loads this file again for each project.
const shared = globalThis as { rapportStarted?: Map<Task, Promise<unknown>> }
const started = (shared.rapportStarted ??= new Map())

/** Returns the result of a task, and starts those of the other projects of the run with it. */
export function startTogether<Name extends Task>(name: Name, project: TestProject): ReturnType<(typeof tasks)[Name]> {
  for (const task of [name, ...findTasks(project)]) {
    if (started.has(task)) continue
    const running: Promise<unknown> = tasks[task]()
    // Reported by the setup that awaits it.
    running.catch(() => {})
    started.set(task, running)
  }
  return started.get(name) as ReturnType<(typeof tasks)[Name]>
}

function findTasks({ vitest }: TestProject): Task[] {
  const paths = vitest.state.getPaths()
  const hasFiles = (project: TestProject) => paths.some((path) => project.matchesTestGlob(path))
  return vitest.projects.filter(hasFiles).flatMap(({ name }) => tasksOfProjects[name] ?? [])
}
