import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { CommandFailed } from '../command.ts'
import type { ClientProgram } from './client-programs.ts'

export interface RunningProgram {
  readonly stdout: Readable
  /** Resolves when the program has exited with 0. Rejects with its messages, or with the error of its input. */
  readonly exited: Promise<unknown>
}

/** Of a restore that fails row by row, the first messages matter. */
const maxMessages = 10

/** Starts a client program of PostgreSQL. It may exit before it has read all of its input. */
export function startProgram(
  { path }: ClientProgram,
  parameters: readonly string[],
  options: {
    environment: Record<string, string | undefined>
    signal: AbortSignal
    input?: Iterable<Buffer> | AsyncIterable<Buffer>
  },
): RunningProgram {
  const { environment, signal, input = [] } = options
  const child = spawn(path, parameters, { env: environment, stdio: 'pipe', signal })
  const isRead = pipeline(input, child.stdin).catch((error: unknown) => {
    if (!/^(EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/.test(String((error as NodeJS.ErrnoException).code))) throw error
  })
  const exited = Promise.all([isRead, waitForExit(child, path)])
  // Callers await it later.
  exited.catch(() => {})
  return { stdout: child.stdout, exited }
}

function waitForExit(child: ChildProcess & { stderr: Readable }, path: string): Promise<void> {
  const messages: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (messages.length < maxMessages) messages.push(line)
  })
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new CommandFailed(`${path}: ${error.message}`)))
    child.once('close', (code, signal) => {
      if (code === 0) return resolve()
      const outcome = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
      reject(new CommandFailed([`${path} ${outcome}`, ...messages].join('\n')))
    })
  })
}
