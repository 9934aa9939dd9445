import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { inject } from 'vitest'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { waitUntil } from '../wait.ts'

const projectRoot = resolve(import.meta.dirname, '../../../..')

export interface StartedProcess {
  readonly pid: number
  /** What `readyPattern` matched, so that a line such as "listening on port 4711" can be taken apart. */
  readonly ready: RegExpExecArray | undefined
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  readonly isRunning: boolean
  stdout(): string
  stderr(): string
  /** Sends the signal (SIGTERM) and returns at once: await `exited` for the end. */
  kill(signal?: NodeJS.Signals): void
}

interface Readiness {
  /** Searched for in what the process has printed so far, on stdout or stderr. */
  readyPattern?: RegExp
  /** Ready as soon as a GET of this address answers 2xx. */
  readyUrl?: string
  /** 60 seconds: other tests may want the machine, too. */
  timeoutMs?: number
}

const running = new Set<StartedProcess>()

/**
 * Starts a Node program of the workspace (`apps/api/src/main.ts`) with exactly this environment and PATH, and returns
 * once it is ready; without a sign of readiness, at once. Fails with what it printed when it ends before, or takes too
 * long. What still runs when the test file ends is killed.
 */
export function startProcess(
  options: { script: string; parameters?: string[]; env: Record<string, string> } & Readiness,
): Promise<StartedProcess> {
  const { script, parameters = [], env, ...readiness } = options
  const node = { command: process.execPath, parameters: [resolve(projectRoot, script), ...parameters] }
  return startCommand({ ...node, env: { ...compileCache(), ...env }, ...readiness })
}

/** What one process of this run has compiled, the next one loads. */
function compileCache(): Record<string, string> {
  const { pidDirectory } = inject('testServices') ?? {}
  return pidDirectory === undefined ? {} : { NODE_COMPILE_CACHE: join(dirname(pidDirectory), 'compile-cache') }
}

/** Runs such a program to its end. */
export async function runProcess(
  options: Parameters<typeof startProcess>[0],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const started = await startProcess(options)
  const { code } = await started.exited
  return { code, stdout: started.stdout(), stderr: started.stderr() }
}

/** As `startProcess`, for any program. `pidDirectory` is for the global setup alone. */
export async function startCommand(
  options: {
    command: string
    parameters: string[]
    env?: Record<string, string>
    pidDirectory?: string
  } & Readiness,
): Promise<StartedProcess> {
  const started = spawnCommand(options)
  const { readyPattern, readyUrl, timeoutMs = 60_000 } = options
  const name = [options.command, ...options.parameters].join(' ')
  const printed = () => `it printed:\n${started.stdout()}${started.stderr()}`
  const findSign = async () => {
    if (!started.isRunning) return 'ended'
    if (readyPattern) return readyPattern.exec(started.stdout()) ?? readyPattern.exec(started.stderr())
    return !readyUrl || (await isAnswering(readyUrl))
  }
  try {
    const sign = await waitUntil(findSign, { describe: () => `${name} is ready; ${printed()}`, timeoutMs })
    if (sign === 'ended') {
      const { code, signal } = await started.exited
      throw new Error(`${name} ended with ${signal ?? `code ${code}`} before it was ready; ${printed()}`)
    }
    return Object.assign(started, { ready: sign === true ? undefined : sign })
  } catch (error) {
    started.kill('SIGKILL')
    await started.exited
    throw error
  }
}

function spawnCommand(options: {
  command: string
  parameters: string[]
  env?: Record<string, string>
  pidDirectory?: string
}): StartedProcess {
  const child = spawn(options.command, options.parameters, {
    cwd: projectRoot,
    env: { PATH: inheritedEnvironment()['PATH'], ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const forget = child.pid === undefined ? () => {} : remember(child.pid, options.pidDirectory)

  let isRunning = child.pid !== undefined
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolveExit) => {
    const end = (code: number | null, signal: NodeJS.Signals | null) => {
      isRunning = false
      running.delete(started)
      forget()
      resolveExit({ code, signal })
    }
    child.once('close', end)
    child.once('error', (error) => {
      stderr += `${error.message}\n`
      if (child.pid === undefined) end(null, null)
    })
  })
  const started: StartedProcess = {
    pid: child.pid ?? 0,
    ready: undefined,
    exited,
    get isRunning() {
      return isRunning
    },
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal = 'SIGTERM') => void child.kill(signal),
  }
  // The global setup ends what it started by itself.
  if (options.pidDirectory === undefined) running.add(started)
  return started
}

/** Writes the process number where the end of the whole run looks, as a worker that is killed cannot tidy up. */
function remember(pid: number, pidDirectory = inject('testServices')?.pidDirectory): () => void {
  if (pidDirectory === undefined) return () => {}
  const file = join(pidDirectory, String(pid))
  mkdirSync(pidDirectory, { recursive: true })
  writeFileSync(file, '')
  return () => rmSync(file, { force: true })
}

/** Kills what this test file has started and not ended. */
export async function killStartedProcesses(): Promise<void> {
  const left = [...running]
  for (const started of left) started.kill('SIGKILL')
  await Promise.all(left.map((started) => started.exited))
}

async function isAnswering(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
  await response.arrayBuffer()
  return response.ok
}
