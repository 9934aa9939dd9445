import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
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

/** The standard input. With `isWhole`, it is read to its end although the program may exit before. */
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
  const writing = input.isWhole ? writeWhole(input, child.stdin) : writeBeginning(input, child.stdin)
  const exited = Promise.all([writing, waitForExit(child, path)])
  // Callers await it later.
  exited.catch(() => {})
  return { stdout: child.stdout, exited }
}

/** Ends without an error when the program has read enough. */
async function writeBeginning({ chunks }: Input, stdin: Writable): Promise<void> {
  await pipeline(chunks, stdin).catch((error: unknown) => {
    if (!/^(EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/.test(String((error as NodeJS.ErrnoException).code))) throw error
  })
}

/** Reads on when the program has exited: only at the end of an encrypted file is it certain that nothing is missing. */
async function writeWhole({ chunks }: Input, stdin: Writable): Promise<void> {
  // The exit code and the messages of the program say why it stopped reading.
  stdin.on('error', () => {})
  try {
    for await (const chunk of chunks) {
      if (!stdin.writable || stdin.write(chunk)) continue
      await Promise.race([once(stdin, 'drain'), once(stdin, 'close')]).catch(() => {})
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
