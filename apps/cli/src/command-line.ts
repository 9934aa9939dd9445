/** Parses the command line with Node's `parseArgs`. */
import { parseArgs } from 'node:util'
import { withSuggestion } from '@rapport/core/kernel/suggestion.ts'
import { version } from '@rapport/core/runtime/version.ts'
import { type Command, type CommandSummary, type ListedCommand, loadCommand, usageError } from './command.ts'
import { describeOptions, formatHelp, listCommands, listSummaries, type OptionDescription } from './help.ts'

export interface ParsedCommand {
  command: Command
  options: Record<string, unknown>
}

/**
 * Returns the command with its options, or the text of `--help` or `--version`. Throws if an argument is invalid. Loads
 * only the command that is named.
 */
export async function parseCommandLine(
  commands: readonly ListedCommand[],
  args: readonly string[],
): Promise<ParsedCommand | { print: string }> {
  const [first = '', ...rest] = args
  if (first === 'help') return parseCommandLine(commands, [...rest, '--help'])
  if (first === '--version' || first === '-v') return { print: formatVersion(rest) }
  const isHelpRequested = args.includes('--help') || args.includes('-h')
  const listed = commands.find(({ name }) => name.split(' ').every((word, at) => args[at] === word))
  if (listed) {
    const command = await loadCommand(listed)
    if (isHelpRequested) return { print: formatHelp(command) }
    return { command, options: readOptions(command, args.slice(command.name.split(' ').length)) }
  }
  if (isHelpRequested && (args.length === 1 || first.startsWith('-'))) return { print: listCommands(commands) }
  const group = first === '' ? [] : commands.filter(({ name }) => name.startsWith(`${first} `))
  if (group.length > 0 && isHelpRequested) return { print: listCommands(group) }
  throw usageError(describeUnknownCommand(args, commands, group))
}

function formatVersion(rest: readonly string[]): string {
  const [unexpected] = rest.filter((word) => word !== '--json')
  if (unexpected !== undefined) throw usageError(`Unexpected argument "${unexpected}". See "rapport --help".`)
  return rest.length > 0 ? JSON.stringify({ version }) : `rapport ${version}`
}

/** `group` has the commands that begin with the first word. */
function describeUnknownCommand(
  [first = '', second = '-']: readonly string[],
  commands: readonly CommandSummary[],
  group: readonly CommandSummary[],
): string {
  const hint = 'See "rapport --help".'
  if (first === '') return `A command is required. ${hint}`
  const names = (group.length > 0 ? group : commands).map(({ name }) => name)
  const firstWords = new Set(names.map((name) => name.split(' ', 1).join()))
  if (group.length > 0 && second.startsWith('-')) {
    return `"${first}" is incomplete. Its commands are:\n${listSummaries(group)}`
  }
  const typed = group.length > 0 ? `${first} ${second}` : first
  return `${withSuggestion(`Unknown command "${typed}"`, typed, [...names, ...firstWords])}. ${hint}`
}

function readOptions(command: Command, args: readonly string[]): Record<string, unknown> {
  const described = describeOptions(command).filter(({ isPositional }) => !isPositional)
  const { values, positionals } = parse(command, described, args)
  const given = { ...values, ...readPositionals(command, positionals) }
  const result = command.options.safeParse(given)
  if (result.success) return result.data
  const problems = result.error.issues.map((issue) => {
    const name = String(issue.path[0] ?? '')
    const label = command.positionals?.includes(name) ? `<${name}>` : `--${name}`
    return name === '' ? issue.message : `${label}: ${given[name] === undefined ? 'is required' : issue.message}`
  })
  throw usageError(`${problems.join('\n')}\n${helpHint(command)}`)
}

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
    const [, unknown = ''] = /^Unknown option '--(.*)'$/.exec(sentence) ?? []
    const names = described.map(({ name }) => `--${name}`)
    throw usageError(`${withSuggestion(sentence, unknown && `--${unknown}`, names)}. ${helpHint(command)}`)
  }
}

/** The last line of the error for an invalid command line. */
export const helpHint = ({ name }: CommandSummary) => `See "rapport ${name} --help".`
