import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { createInterface } from 'node:readline'
import { CommandFailed } from '../command.ts'
import type { ClientProgram } from './client-programs.ts'

export interface RunningProgram {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Resolves when the program has exited with 0. Otherwise rejects with its messages. */
  readonly exited: Promise<void>
  /** Kills the program; `exited` rejects. */
  readonly stop: () => void
}

/** Of a restore that fails row by row, the first messages matter. */
const maxMessages = 10

/** Starts a client program of PostgreSQL. `onMessage` receives the lines of its standard error. */
export function startProgram(
  { path }: ClientProgram,
  parameters: readonly string[],
  options: { environment: Record<string, string | undefined>; onMessage?: (line: string) => void },
): RunningProgram {
  const child = spawn(path, parameters, { env: options.environment, stdio: ['pipe', 'pipe', 'pipe'] })
  const messages: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (messages.length < maxMessages) messages.push(line)
    options.onMessage?.(line)
  })
  // The program may exit before it has read everything; `exited` reports why.
  child.stdin.on('error', () => {})
  const exited = waitForExit(child, { path, messages })
  // Callers await it later.
  exited.catch(() => {})
  return { stdin: child.stdin, stdout: child.stdout, exited, stop: () => void child.kill() }
}

function waitForExit(child: ChildProcess, { path, messages }: { path: string; messages: string[] }): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new CommandFailed(`${path}: ${error.message}`)))
    child.once('close', (code, signal) => {
      if (code === 0) return resolve()
      const outcome = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
      reject(new CommandFailed([`${path} ${outcome}`, ...messages].join('\n')))
    })
  })
}

/**
 * Writes everything to the standard input of a program. If the program exits early without an error, reads on to the
 * end: only there can the source find out that it is incomplete.
 */
export async function feedProgram(program: RunningProgram, source: AsyncIterable<Buffer>): Promise<void> {
  const { stdin } = program
  let hasFailed = false
  program.exited.catch(() => (hasFailed = true))
  for await (const chunk of source) {
    if (hasFailed) break
    if (stdin.writable && !stdin.write(chunk)) await waitUntilWritable(stdin)
  }
  stdin.end()
}

function waitUntilWritable(stdin: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stdin.off('drain', done).off('close', done)
      resolve()
    }
    if (stdin.destroyed) resolve()
    else stdin.on('drain', done).on('close', done)
  })
}
