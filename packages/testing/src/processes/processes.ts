import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { inject } from 'vitest'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { waitUntil } from '../wait.ts'

const projectRoot = resolve(import.meta.dirname, '../../../..')

export interface StartedProcess {
  readonly pid: number
  /** The match of `readyPattern`, for example to read the port from "listening on port 4711". */
  readonly ready: RegExpExecArray | undefined
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  readonly isRunning: boolean
  stdout(): string
  stderr(): string
  /** Sends a signal (default: SIGTERM) and returns immediately. `exited` resolves when the process has exited. */
  kill(signal?: NodeJS.Signals): void
}

interface Readiness {
  /** The process is ready when its output on stdout or stderr matches. */
  readyPattern?: RegExp
  /** The process is ready when a GET request to this URL returns 2xx. */
  readyUrl?: string
  /** Default: 60 seconds, as other tests may keep the machine busy. */
  timeoutMs?: number
}

const running = new Set<StartedProcess>()

/**
 * Starts a Node program of the repository (`apps/api/src/main.ts`) with only this environment, PATH and the compile
 * cache of the test run. Returns when it is ready, or immediately if neither `readyPattern` nor `readyUrl` is set. If
 * the process exits before or the timeout expires, fails with its output. At the end of the test file, processes that
 * still run are killed.
 */
export function startProcess(
  options: { script: string; parameters?: string[]; env: Record<string, string> } & Readiness,
): Promise<StartedProcess> {
  const { script, parameters = [], env, ...readiness } = options
  const node = { command: process.execPath, parameters: [resolve(projectRoot, script), ...parameters] }
  return startCommand({ ...node, env, ...readiness })
}

/** Runs a Node program of the repository until it exits. */
export async function runProcess(
  options: Parameters<typeof startProcess>[0],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const started = await startProcess(options)
  const { code } = await started.exited
  return { code, stdout: started.stdout(), stderr: started.stderr() }
}

interface Command {
  command: string
  parameters: string[]
  env?: Record<string, string>
  /** For a command that starts other processes: `kill` signals all of them. */
  isGroup?: boolean
  /** Only the global setup passes it. */
  pidDirectory?: string
}

/** Like `startProcess`, for any program. */
export async function startCommand(options: Command & Readiness): Promise<StartedProcess> {
  const started = spawnCommand(options)
  const { readyPattern, readyUrl, timeoutMs = 60_000 } = options
  const name = [options.command, ...options.parameters].join(' ')
  const output = () => `output:\n${started.stdout()}${started.stderr()}`
  const checkReadiness = async () => {
    if (!started.isRunning) return 'exited'
    if (readyPattern) return readyPattern.exec(started.stdout()) ?? readyPattern.exec(started.stderr())
    return !readyUrl || (await isResponding(readyUrl))
  }
  try {
    const readiness = await waitUntil(checkReadiness, { describe: () => `${name} is ready; ${output()}`, timeoutMs })
    if (readiness === 'exited') {
      const { code, signal } = await started.exited
      throw new Error(`${name} exited with ${signal ?? `code ${code}`} before it was ready; ${output()}`)
    }
    return Object.assign(started, { ready: readiness === true ? undefined : readiness })
  } catch (error) {
    started.kill('SIGKILL')
    await started.exited
    throw error
  }
}

function spawnCommand(options: Command): StartedProcess {
  const pidDirectory = options.pidDirectory ?? inject('testServices')?.pidDirectory
  const child = spawn(options.command, options.parameters, {
    cwd: projectRoot,
    detached: options.isGroup ?? false,
    env: { PATH: inheritedEnvironment()['PATH'], ...compileCache(pidDirectory), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const groupPid = options.isGroup && child.pid !== undefined ? -child.pid : undefined
  const removePidFile = child.pid === undefined ? () => {} : writePidFile(groupPid ?? child.pid, pidDirectory)

  let isRunning = child.pid !== undefined
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolveExit) => {
    const end = (code: number | null, signal: NodeJS.Signals | null) => {
      isRunning = false
      running.delete(started)
      removePidFile()
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
    kill: (signal = 'SIGTERM') => void (groupPid === undefined ? child.kill(signal) : killGroup(groupPid, signal)),
  }
  // The global setup stops its own processes.
  if (options.pidDirectory === undefined) running.add(started)
  return started
}

/** All Node.js processes of a test run share a compile cache, also those that a script starts. */
function compileCache(pidDirectory: string | undefined): Record<string, string> {
  return pidDirectory === undefined ? {} : { NODE_COMPILE_CACHE: join(dirname(pidDirectory), 'compile-cache') }
}

function killGroup(groupPid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(groupPid, signal)
  } catch {
    // All processes of the group have exited.
  }
}

/** Records the pid for the global teardown, as a Vitest worker that is killed cannot stop its processes. */
function writePidFile(pid: number, pidDirectory: string | undefined): () => void {
  if (pidDirectory === undefined) return () => {}
  const file = join(pidDirectory, String(pid))
  mkdirSync(pidDirectory, { recursive: true })
  writeFileSync(file, '')
  return () => rmSync(file, { force: true })
}

/** Kills the processes that this test file left running. */
export async function killStartedProcesses(): Promise<void> {
  const left = [...running]
  for (const started of left) started.kill('SIGKILL')
  await Promise.all(left.map((started) => started.exited))
}

async function isResponding(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
  await response.arrayBuffer()
  return response.ok
}
