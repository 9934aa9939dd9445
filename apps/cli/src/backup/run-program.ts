import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { createInterface } from 'node:readline'
import { CommandFailed } from '../command.ts'
import { waitForDrain } from '../wait-for-drain.ts'
import type { ClientProgram } from './client-programs.ts'

export interface RunningProgram {
  readonly stdout: Readable
  /** Resolves when the program has exited with 0. Rejects with its messages, or with the error of its input. */
  readonly exited: Promise<unknown>
}

/** Of a restore that fails row by row, the first messages matter. */
const maxMessages = 10

/** The standard input. The program may exit before it has read all; with `isWhole`, it is read to its end even then. */
interface Input {
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>
  isWhole: boolean
}

/** Starts a client program of PostgreSQL. */
export function startProgram(
  { path }: ClientProgram,
  parameters: readonly string[],
  options: {
    environment: Record<string, string | undefined>
    signal: AbortSignal
    input?: Input
  },
): RunningProgram {
  const { environment, signal, input = { chunks: [], isWhole: false } } = options
  const child = spawn(path, parameters, { env: environment, stdio: 'pipe', signal })
  const exited = Promise.all([writeInput(input, child.stdin), waitForExit(child, path)])
  // Callers await it later.
  exited.catch(() => {})
  return { stdout: child.stdout, exited }
}

/**
 * Not `pipeline`: it stops when the program exits, and only at the end of an encrypted file is it certain that nothing is
 * missing. Rejects with an error of the source alone: the exit code and the messages of the program are its errors.
 */
async function writeInput({ chunks, isWhole }: Input, stdin: Writable): Promise<void> {
  stdin.on('error', () => {})
  try {
    for await (const chunk of chunks) {
      if (!stdin.writable && !isWhole) return
      if (!stdin.writable || stdin.write(chunk)) continue
      await waitForDrain(stdin)
    }
  } finally {
    stdin.end()
  }
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
