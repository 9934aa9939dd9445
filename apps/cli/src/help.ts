/** Describes commands and their options: for `--help`, and for the completion of a shell. */
import { z } from 'zod'
import { type Command, commandGroups, type CommandSummary } from './command.ts'

export interface OptionDescription {
  name: string
  isPositional: boolean
  isRequired: boolean
  /** Undefined for a flag. */
  placeholder: string | undefined
  description: string
  /** The values, if there are few. */
  values: readonly string[]
}

export function describeOptions({ options, positionals = [] }: Command): OptionDescription[] {
  return Object.entries(options.shape).map(([name, schema]) => {
    const { placeholder, description = '' } = schema.meta() as { placeholder?: string; description?: string }
    const { enum: values = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    return {
      name,
      isPositional: positionals.includes(name),
      isRequired: !schema.safeParse(undefined).success,
      placeholder,
      description,
      values: values.map(String),
    }
  })
}

/** Formats the list of all commands, or of a group of commands. */
export function listCommands(commands: readonly CommandSummary[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const sections = commandGroups.flatMap((group) => {
    const members = commands.filter((command) => command.group === group)
    return members.length === 0 ? [] : ['', `${group}:`, listSummaries(members, width)]
  })
  return [
    'Usage: rapport <command> [options]',
    ...sections,
    '',
    '"rapport <command> --help" shows the options of a command, "rapport --version" the version.',
    'With --json, a command prints JSON, also for an error: {"error":{"code":…,"message":…}} on standard error.',
    '',
    'Exit codes: 0 success, 1 failure, 2 invalid command line, 78 invalid environment, 130 stopped with Ctrl-C.',
    'Commands read the same environment variables as the API and the worker. If no server is set there, they use the',
    'local installation that "pnpm start" is running.',
  ].join('\n')
}

/** Formats the name and the summary of each command. */
export function listSummaries(commands: readonly CommandSummary[], width?: number): string {
  const nameWidth = width ?? Math.max(...commands.map(({ name }) => name.length))
  return commands.map(({ name, summary }) => `  ${name.padEnd(nameWidth)}  ${summary}`).join('\n')
}

export function formatHelp(command: Command): string {
  const described = describeOptions(command)
  const labelOf = ({ name, placeholder, isPositional }: OptionDescription) =>
    isPositional ? (placeholder ?? `<${name}>`) : `--${name}${placeholder ? ` ${placeholder}` : ''}`
  const required = described.filter(({ isRequired }) => isRequired).map(labelOf)
  const optional = described.filter(({ isPositional, isRequired }) => isPositional && !isRequired)
  const rows = [
    ...described.map((one) => [labelOf(one), one.description] as const),
    ['--help', 'Shows this help'] as const,
  ]
  const width = Math.max(...rows.map(([label]) => label.length))
  return [
    ['Usage: rapport', command.name, ...optional.map(({ name }) => `[${name}]`), ...required, '[options]'].join(' '),
    '',
    `${command.summary}.`,
    '',
    ...rows.map(([label, description]) => `  ${label.padEnd(width)}  ${description}`),
    '',
    command.notes,
  ].join('\n')
}
