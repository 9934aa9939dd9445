import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import { projectDirectory } from '@rapport/core/runtime/local-instance.ts'
import { compileCache, nodeFlags } from '@rapport/core/runtime/node-flags.ts'
import type { Environment } from './settings.ts'

export type ProgramName = 'api' | 'worker'

export interface RunningProgram {
  readonly name: ProgramName
  readonly pid: number | undefined
  /** Resolves when the process has exited, with the reason ("with code 1"). */
  readonly exited: Promise<string>
  /** Shuts the process down; kills it after `graceMs`. Returns false if it was killed. */
  stop(graceMs: number): Promise<boolean>
}

export const titles: Record<ProgramName, string> = { api: 'API', worker: 'worker' }

const inspect = (port: number) => [
  `--inspect=127.0.0.1:${port}`,
  // Without it, Node prints two lines for each start.
  '--inspect-publish-uid=http',
]
/** The ports in `.vscode/launch.json`. If one is in use, Node prints a line, and the program runs without a debugger. */
export const debuggerFlags: Record<ProgramName, string[]> = { api: inspect(9229), worker: inspect(9230) }

const mainOf = (name: string) => join(projectDirectory, 'apps', name, 'src', 'main.ts')

/**
 * Starts the API or the worker in its own process group, so that a Ctrl-C in the terminal reaches only the launcher.
 * When the launcher exits or is killed, the IPC channel closes, and the program exits too.
 */
export function startProgram(name: ProgramName, environment: Environment, flags: string[] = []): RunningProgram {
  const child = spawn(process.execPath, [...nodeFlags, ...flags, mainOf(name)], {
    cwd: projectDirectory,
    detached: true,
    env: { NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = describeChildExit(child)
  let stopping: Promise<boolean> | undefined
  return { name, pid: child.pid, exited, stop: (graceMs) => (stopping ??= stopChild(child, exited, graceMs)) }
}

function describeChildExit(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`before it started (${error.message})`))
    child.once('exit', (code, signal) => resolve(signal ? `by ${signal}` : `with code ${code}`))
  })
}

async function stopChild(child: ChildProcess, exited: Promise<string>, graceMs: number): Promise<boolean> {
  child.kill('SIGTERM')
  const hasExited = await withTimeout(exited, graceMs).then(
    () => true,
    () => false,
  )
  if (hasExited) return true
  child.kill('SIGKILL')
  await exited
  return false
}

export const describeExit = async ({ name, exited }: RunningProgram): Promise<string> =>
  `The ${titles[name]} exited ${await exited}`

export async function stopPrograms(programs: RunningProgram[], graceMs: number): Promise<void> {
  const haveExited = await Promise.all(programs.map((program) => program.stop(graceMs)))
  const late = programs.filter((_, index) => !haveExited[index]).map((program) => program.name)
  if (late.length > 0)
    throw new Error(`Killed because it did not stop within ${graceMs / 1_000} seconds: ${late.join(', ')}.`)
}

/**
 * Waits for programs that a killed launcher left running: they exit by themselves, but use the port until then. Calls
 * `onWait` once if there are any. Kills them after `graceMs`.
 */
export async function waitForOrphanedPrograms(
  pids: Readonly<Record<string, number>>,
  options: { graceMs: number; onWait: () => void; signal: AbortSignal },
): Promise<void> {
  const deadline = Date.now() + options.graceMs
  let hasWaited = false
  for (const [name, pid] of Object.entries(pids)) {
    while (await isProgram(name, pid)) {
      if (!hasWaited) options.onWait()
      hasWaited = true
      options.signal.throwIfAborted()
      if (Date.now() > deadline) process.kill(pid, 'SIGKILL')
      await sleep(100)
    }
  }
}

/** Checks the command of the process, as its pid may have been reused. */
async function isProgram(name: string, pid: number): Promise<boolean> {
  const command =
    process.platform === 'linux'
      ? readFile(`/proc/${pid}/cmdline`, 'utf8')
      : promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).then(({ stdout }) => stdout)
  return (await command.catch(() => '')).includes(mainOf(name))
}
