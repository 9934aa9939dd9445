/** The definition of a command. Its Zod schema validates the options and provides their types and help texts. */
import type { LocalInstance } from '@rapport/core/runtime/local-instance.ts'
import { z } from 'zod'
import type { Terminal } from './terminal.ts'

export interface CliContext {
  readonly terminal: Terminal
  /** The environment variables, completed with the addresses of the local installation. */
  readonly environment: Record<string, string | undefined>
  readonly local: LocalInstance | undefined
  /** Aborted by Ctrl-C. The command then returns soon and reports what continues on the server. */
  readonly stopping: AbortSignal
}

type Options = z.ZodObject<Record<string, z.ZodType>>
/** Every command has the option `--json`. */
type OptionsWithJson = z.ZodObject<Record<string, z.ZodType> & { json: ReturnType<typeof jsonFlag> }>

/** The headings of the help, in their order. */
export const commandGroups = [
  'Programs',
  'Installation',
  'Workspaces',
  'Users and keys',
  'Contacts',
  'Development',
  'Shell',
] as const

export interface CommandSummary {
  readonly name: string
  readonly group: (typeof commandGroups)[number]
  /** Shown in the list of commands, in one line. */
  readonly summary: string
}

/** What the module of a command exports. */
export interface CommandDefinition<Shape extends Options = Options> {
  /** The names of the options that are passed as positional arguments, in their order. */
  readonly positionals?: readonly string[]
  /** Whether the last positional argument may be repeated. Its option receives an array. */
  readonly isLastRepeated?: boolean
  /** The metadata of each option is created by `option` or `flag`. */
  readonly options: Shape
  /** Shown below the options in the help of the command. */
  readonly notes: string
  /** Returns the exit code. main.ts prints the error if it throws. */
  run(cli: CliContext, options: z.output<Shape>): Promise<number>
}

/** A command of the list, whose module is loaded when it is needed. */
export interface ListedCommand extends CommandSummary {
  load(): Promise<CommandDefinition>
}

export type Command = CommandSummary & CommandDefinition

export const loadCommand = async (listed: ListedCommand): Promise<Command> => ({ ...listed, ...(await listed.load()) })

/** Infers the type of the options from their schema. */
export function defineCommand<Shape extends OptionsWithJson>(definition: CommandDefinition<Shape>): CommandDefinition {
  return definition
}

/** The option `--json`. The description says what it prints. */
export const jsonFlag = (description: string) => z.boolean().default(false).meta(flag(description))

/** Metadata (`.meta`) of an option with a value. */
export const option = (placeholder: string, description: string) => ({ placeholder, description })
/** Metadata (`.meta`) of an option without a value. */
export const flag = (description: string) => ({ description })

export const exitCodes = {
  success: 0,
  /** The command failed, or one of its checks failed. */
  failed: 1,
  /** Invalid command line. */
  usage: 2,
  /** Invalid environment (EX_CONFIG, as in the API and the worker). */
  config: 78,
  /** Stopped by Ctrl-C. */
  interrupted: 130,
} as const

/** A failure that the operator can fix. Only `message` is printed, without a stack trace. */
export class CommandFailed extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode: number = exitCodes.failed, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** An invalid command line. The message names the option. */
export const usageError = (message: string) => new CommandFailed(message, exitCodes.usage)
