import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { withTimeout } from '@rapport/core/kernel/with-timeout.ts'
import { projectDirectory } from '@rapport/core/runtime/local-instance.ts'
import { nodeFlags } from '@rapport/core/runtime/node-flags.ts'
import type { Environment } from './settings.ts'

export type ProgramName = 'api' | 'worker'

export interface RunningProgram {
  readonly name: ProgramName
  readonly pid: number | undefined
  /** Resolves when the process has ended, with the way it did ("with code 1"). */
  readonly ended: Promise<string>
  /** Asks it to finish its work and end, once; after the time it is killed. False when it had to be. */
  stop(graceMs: number): Promise<boolean>
}

const mainOf = (name: string) => join(projectDirectory, 'apps', name, 'src', 'main.ts')

/**
 * Starts the API or the worker. It stands in a process group of its own, so that a Ctrl-C in the terminal does not reach it
 * past the launcher; and on a channel that closes when the launcher dies, so that it ends then too.
 */
export function startProgram(name: ProgramName, environment: Environment): RunningProgram {
  const child = spawn(process.execPath, [...nodeFlags, mainOf(name)], {
    cwd: projectDirectory,
    detached: true,
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = endingOf(child)
  let stopping: Promise<boolean> | undefined
  return { name, pid: child.pid, ended, stop: (graceMs) => (stopping ??= stopChild(child, ended, graceMs)) }
}

function endingOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`before it began (${error.message})`))
    child.once('exit', (code, signal) => resolve(signal ? `by ${signal}` : `with code ${code}`))
  })
}

async function stopChild(child: ChildProcess, ended: Promise<string>, graceMs: number): Promise<boolean> {
  child.kill('SIGTERM')
  const hasEnded = await withTimeout(ended, graceMs).then(
    () => true,
    () => false,
  )
  if (hasEnded) return true
  child.kill('SIGKILL')
  await ended
  return false
}

/**
 * Waits for programs that a killed launcher left behind: they end by themselves, but hold the port until they have.
 * `onWait` hears once that there are some. Those that have not ended after `graceMs` are killed.
 */
export async function waitForLeftPrograms(
  pids: Readonly<Record<string, number>>,
  options: { graceMs: number; onWait: () => void; signal: AbortSignal },
): Promise<void> {
  const deadline = Date.now() + options.graceMs
  let waited = false
  for (const [name, pid] of Object.entries(pids)) {
    while (await isProgram(name, pid)) {
      if (!waited) options.onWait()
      waited = true
      options.signal.throwIfAborted()
      if (Date.now() > deadline) process.kill(pid, 'SIGKILL')
      await sleep(100)
    }
  }
}

/** Whether the process is that program: its number may be another's by now. */
async function isProgram(name: string, pid: number): Promise<boolean> {
  const command =
    process.platform === 'linux'
      ? readFile(`/proc/${pid}/cmdline`, 'utf8')
      : promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).then(({ stdout }) => stdout)
  return (await command.catch(() => '')).includes(mainOf(name))
}
