/** Starts the programs of `examples/` with the command of their README. */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { startCommand, type StartedProcess } from '@rapport/testing/processes/processes.ts'

const examples = resolve(import.meta.dirname, '../../../examples')

interface Settings {
  apiUrl: string
  /** None for a program that reads the key from a file. */
  key?: string
  /** The script of `package.json`. */
  script?: string
  /** Further variables. */
  env?: Record<string, string>
}

/** Returns when the program prints a line that matches. */
export function startExample(name: string, settings: Settings, readyPattern: RegExp): Promise<StartedProcess> {
  return startCommand({ ...commandOf(name, settings), readyPattern })
}

/** Returns what the program prints. Fails if its exit code is not 0. */
export async function runExample(name: string, settings: Settings): Promise<string> {
  const started = await startCommand(commandOf(name, settings))
  const { code } = await started.exited
  if (code !== 0) throw new Error(`${name} exited with code ${code}:\n${started.stdout()}${started.stderr()}`)
  return started.stdout()
}

/** Runs the script as pnpm does, but without a process of pnpm, so that signals reach the program itself. */
function commandOf(name: string, { apiUrl, key, script = 'start', env }: Settings) {
  const folder = resolve(examples, name)
  const read = (file: string) => readFileSync(resolve(folder, file), 'utf8')
  const manifest = JSON.parse(read('package.json')) as { name: string; scripts: Record<string, string> }
  const command = `npx --yes pnpm --filter ${manifest.name} ${script}`
  if (!read('README.md').includes(`\n${command}\n`)) throw new Error(`${name}/README.md: does not have "${command}"`)
  return {
    command: 'bash',
    parameters: ['-c', `cd '${folder}' && exec ${manifest.scripts[script]}`],
    env: {
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      RAPPORT_API_URL: apiUrl,
      ...(key !== undefined && { RAPPORT_API_KEY: key }),
      ...env,
    },
  }
}
