import { startProcess, type StartedProcess } from '@rapport/testing/processes/processes.ts'
import { testEnvironment } from './testing.ts'

export const apiScript = 'apps/api/src/main.ts'

/** Starts the API as a process and waits until it listens. `environment` overrides `testEnvironment`. */
export async function startApiProcess(
  databaseUrl: string,
  environment: Record<string, string> = {},
): Promise<{ main: StartedProcess; url: string }> {
  const env = { ...testEnvironment(databaseUrl), ...environment }
  const readyPattern = /Server listening at (http:\/\/[\d.:]+)/
  const main = await startProcess({ script: apiScript, env, readyPattern })
  return { main, url: main.ready?.[1] ?? '' }
}
