/** Parses the command line with Node's `parseArgs`, and formats the help. */
import { parseArgs } from 'node:util'
import { version } from '@rapport/core/runtime/version.ts'
import type { z } from 'zod'
import { type Command, usageError } from './command.ts'

export interface ParsedCommand {
  command: Command
  options: Record<string, unknown>
}

/** Returns the command with its options, or the text of `--help` or `--version`. Throws if an argument is invalid. */
export function parseCommandLine(
  commands: readonly Command[],
  args: readonly string[],
): ParsedCommand | { print: string } {
  const [first = '', ...rest] = args
  if (first === 'help') return parseCommandLine(commands, [...rest, '--help'])
  if (first === '--version' && rest.length === 0) return { print: `rapport ${version}` }
  const isHelpRequested = args.includes('--help') || args.includes('-h')
  const command = commands.find(({ name }) => name.split(' ').every((word, at) => args[at] === word))
  if (command) {
    if (isHelpRequested) return { print: formatHelp(command) }
    return { command, options: readOptions(command, args.slice(command.name.split(' ').length)) }
  }
  if (isHelpRequested && (args.length === 1 || first.startsWith('-'))) return { print: listCommands(commands) }
  const group = first === '' ? [] : commands.filter(({ name }) => name.startsWith(`${first} `))
  if (group.length > 0 && isHelpRequested) return { print: listCommands(group) }
  const names = group.map(({ name }) => `"rapport ${name}"`).join(' or ')
  if (group.length > 0) throw usageError(`"${first}" is incomplete. Use ${names}.`)
  const problem = first === '' ? 'A command is required.' : `Unknown command "${first}".`
  throw usageError(`${problem} See "rapport --help".`)
}

interface OptionDescription {
  name: string
  schema: z.ZodType
  /** Undefined for a flag. */
  placeholder: string | undefined
  description: string
}

function describeOptions({ options }: Command): OptionDescription[] {
  return Object.entries(options.shape).map(([name, schema]) => {
    const { placeholder, description = '' } = schema.meta() as { placeholder?: string; description?: string }
    return { name, schema, placeholder, description }
  })
}

function readOptions(command: Command, args: readonly string[]): Record<string, unknown> {
  const described = describeOptions(command).filter(({ name }) => !isPositional(command, name))
  const { values, positionals } = parse(command, described, args)
  const given = { ...values, ...readPositionals(command, positionals) }
  const result = command.options.safeParse(given)
  if (result.success) return result.data
  const problems = result.error.issues.map((issue) => {
    const name = String(issue.path[0] ?? '')
    const label = isPositional(command, name) ? `<${name}>` : `--${name}`
    return name === '' ? issue.message : `${label}: ${given[name] === undefined ? 'is required' : issue.message}`
  })
  throw usageError(`${problems.join('\n')}\n${helpHint(command)}`)
}

const isPositional = ({ positionals = [] }: Command, name: string) => positionals.includes(name)

function readPositionals(command: Command, words: readonly string[]): Record<string, unknown> {
  const { positionals: names = [], isLastRepeated = false } = command
  const unexpected = isLastRepeated ? undefined : words[names.length]
  if (unexpected !== undefined) throw usageError(`Unexpected argument "${unexpected}". ${helpHint(command)}`)
  return Object.fromEntries(
    names.map((name, at) => {
      const isRepeated = isLastRepeated && at === names.length - 1 && words.length > at
      return [name, isRepeated ? words.slice(at) : words[at]]
    }),
  )
}

function parse(command: Command, described: readonly OptionDescription[], args: readonly string[]) {
  const options = Object.fromEntries(
    described.map(({ name, placeholder }) => [name, { type: placeholder ? 'string' : 'boolean' } as const]),
  )
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    // Only the first sentence of Node's message is useful: "Unknown option '--x'. To specify a positional argument …"
    const [sentence = ''] = (error as Error).message.split(/\. |\n/)
    throw usageError(`${sentence}. ${helpHint(command)}`)
  }
}

/** The last line of the error for an invalid command line. */
export const helpHint = ({ name }: Command) => `See "rapport ${name} --help".`

/** Formats the list of all commands, or of a group of commands. */
export function listCommands(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    'Usage: rapport <command> [options]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    '"rapport <command> --help" shows the options of a command, "rapport --version" the version.',
    '',
    'Exit codes: 0 success, 1 failure, 2 invalid command line, 78 invalid environment.',
    'Commands read the same environment variables as the API and the worker. If no server is set there, they use the',
    'local installation that "pnpm start" is running.',
  ].join('\n')
}

function formatHelp(command: Command): string {
  const described = describeOptions(command)
  const labelOf = ({ name, placeholder }: OptionDescription) =>
    isPositional(command, name) ? (placeholder ?? `<${name}>`) : `--${name}${placeholder ? ` ${placeholder}` : ''}`
  const isRequired = ({ schema }: OptionDescription) => !schema.safeParse(undefined).success
  const required = described.filter(isRequired).map(labelOf)
  const rows = [
    ...described.map((one) => [labelOf(one), one.description] as const),
    ['--help', 'Shows this help'] as const,
  ]
  const width = Math.max(...rows.map(([label]) => label.length))
  const optionalPositionals = described.filter((one) => isPositional(command, one.name) && !isRequired(one))
  return [
    [
      'Usage: rapport',
      command.name,
      ...optionalPositionals.map(({ name }) => `[${name}]`),
      ...required,
      '[options]',
    ].join(' '),
    '',
    `${command.summary}.`,
    '',
    ...rows.map(([label, description]) => `  ${label.padEnd(width)}  ${description}`),
    '',
    command.notes,
  ].join('\n')
}
