/** From words to a command and its options, and the help. The parsing itself is Node's. */
import { parseArgs } from 'node:util'
import { version } from '@rapport/core/runtime/version.ts'
import type { z } from 'zod'
import { type Command, usageError } from './command.ts'

export interface Meaning {
  command: Command
  options: Record<string, unknown>
}

/** Parses the arguments into a command, or into the text of `--help` or `--version`. Throws a usage error that names what is wrong. */
export function readCommandLine(commands: readonly Command[], words: readonly string[]): Meaning | { print: string } {
  const [first = '', ...rest] = words
  if (first === 'help') return readCommandLine(commands, [...rest, '--help'])
  if (first === '--version' && rest.length === 0) return { print: `rapport ${version}` }
  const wantsHelp = words.includes('--help') || words.includes('-h')
  const command = commands.find(({ name }) => name.split(' ').every((word, at) => words[at] === word))
  if (command) {
    if (wantsHelp) return { print: helpOf(command) }
    return { command, options: readOptions(command, words.slice(command.name.split(' ').length)) }
  }
  if (wantsHelp && (words.length === 1 || first.startsWith('-'))) return { print: listCommands(commands) }
  const group = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => `"rapport ${name}"`)
  if (first !== '' && group.length > 0) throw usageError(`"${first}" is one of ${group.join(', ')}`)
  const what = first === '' ? 'Which command?' : `There is no command "${first}".`
  throw usageError(`${what} "rapport --help" lists them.`)
}

interface Described {
  name: string
  schema: z.ZodType
  /** Undefined for one that takes no value. */
  placeholder: string | undefined
  description: string
}

function describeOptions({ options }: Command): Described[] {
  return Object.entries(options.shape).map(([name, schema]) => {
    const { placeholder, description = '' } = schema.meta() as { placeholder?: string; description?: string }
    return { name, schema, placeholder, description }
  })
}

function readOptions(command: Command, words: readonly string[]): Record<string, unknown> {
  const described = describeOptions(command).filter(({ name }) => name !== command.positional)
  const { values, positionals } = parse(command, described, words)
  const [positional, ...others] = positionals
  const unexpected = command.positional === undefined ? positional : others[0]
  if (unexpected !== undefined) throw usageError(`"${unexpected}" is not expected here. ${hintOf(command)}`)
  const result = command.options.safeParse({
    ...values,
    ...(command.positional !== undefined && { [command.positional]: positional }),
  })
  if (result.success) return result.data
  const problems = result.error.issues.map((issue) => {
    const name = String(issue.path[0] ?? '')
    const isMissing = name === command.positional ? positional === undefined : values[name] === undefined
    const label = name === command.positional ? `<${name}>` : `--${name}`
    return name === '' ? issue.message : `${label}: ${isMissing ? 'is needed' : issue.message}`
  })
  throw usageError(`${problems.join('\n')}\n${hintOf(command)}`)
}

function parse(command: Command, described: readonly Described[], words: readonly string[]) {
  const options = Object.fromEntries(
    described.map(({ name, placeholder }) => [name, { type: placeholder ? 'string' : 'boolean' } as const]),
  )
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true })
  } catch (error) {
    // "Unknown option '--x'. To specify a positional argument …": the rest helps nobody here.
    const [sentence = ''] = (error as Error).message.split(/\. |\n/)
    throw usageError(`${sentence}. ${hintOf(command)}`)
  }
}

const hintOf = ({ name }: Command) => `"rapport ${name} --help" shows what there is.`

/** Every command with its line. */
export function listCommands(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    'Usage: rapport <command> [options]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    '"rapport <command> --help" shows the options of one, "rapport --version" the version. Exit codes: 0 all is well, 1 it is not, 2 the command line is',
    'wrong, 78 the environment is. Commands read the same environment as the API and the worker; where it names no',
    'addresses, those of the installation that "pnpm start" runs here.',
  ].join('\n')
}

function helpOf(command: Command): string {
  const described = describeOptions(command)
  const labelOf = ({ name, placeholder }: Described) =>
    name === command.positional ? `<${name}>` : `--${name}${placeholder ? ` ${placeholder}` : ''}`
  const isNeeded = ({ schema }: Described) => !schema.safeParse(undefined).success
  const needed = described.filter(isNeeded).map(labelOf)
  const rows = [...described.map((one) => [labelOf(one), one.description] as const), ['--help', 'Shows this'] as const]
  const width = Math.max(...rows.map(([label]) => label.length))
  const isPositionalOptional = command.positional !== undefined && !needed.includes(`<${command.positional}>`)
  return [
    [
      'Usage: rapport',
      command.name,
      ...(isPositionalOptional ? [`[${command.positional}]`] : []),
      ...needed,
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
