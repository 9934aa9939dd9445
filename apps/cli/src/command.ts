/** What a command is. Its Zod schema is the check of its options, their type, and its help. */
import type { LocalInstance } from '@rapport/core/runtime/local-instance.ts'
import type { z } from 'zod'
import type { Terminal } from './terminal.ts'

/** What every command is given. */
export interface CliContext {
  readonly terminal: Terminal
  /** With the addresses of the local installation, where the shell names none. */
  readonly environment: Record<string, string | undefined>
  readonly local: LocalInstance | undefined
  /** Aborted by Ctrl-C: a command then ends soon, and says what goes on without it. */
  readonly stopping: AbortSignal
}

type Options = z.ZodObject<Record<string, z.ZodType>>

export interface Command<Shape extends Options = Options> {
  readonly name: string
  /** A line for the list of commands. */
  readonly summary: string
  /** Which of `options` is given without its name. */
  readonly positional?: string
  /** Each is described by `option` or `flag`. */
  readonly options: Shape
  /** Below the options in the command's own help. */
  readonly notes: string
  /** Answers the exit code. What it throws is for main.ts to tell. */
  run(cli: CliContext, options: z.output<Shape>): Promise<number>
}

/** Ties the type of the options to their schema. */
export function defineCommand<Shape extends Options>(command: Command<Shape>): Command {
  return command
}

/** For `.meta` of an option that takes a value. */
export const option = (placeholder: string, description: string) => ({ placeholder, description })
/** For `.meta` of an option that takes none. */
export const flag = (description: string) => ({ description })

export const exitCodes = {
  good: 0,
  /** It was done and found bad, or could not be done. */
  failed: 1,
  /** The command line cannot be meant. */
  usage: 2,
  /** The environment is not usable: EX_CONFIG, as of the other programs. */
  config: 78,
  /** Ended by Ctrl-C before its end. */
  interrupted: 130,
} as const

/** What cannot be done for a reason that the person can see to; `message` is all they need. */
export class CommandFailed extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message)
    this.exitCode = exitCode
  }
}

/** A command line that cannot be meant: names the option. */
export const usageError = (message: string) => new CommandFailed(message, exitCodes.usage)
