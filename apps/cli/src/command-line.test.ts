import { version } from '@rapport/core/runtime/version.ts'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { CommandFailed, type Command, defineCommand, exitCodes, flag, option } from './command.ts'
import { listCommands, readCommandLine } from './command-line.ts'
import { commands } from './commands.ts'

const letter = defineCommand({
  name: 'letter send',
  summary: 'Sends a letter',
  positional: 'file',
  options: z.strictObject({
    file: z.string().meta(option('<file>', 'What it says')),
    to: z.email('must be a mail address').meta(option('<address>', 'Who gets it')),
    copies: z.coerce.number().int('must be a whole number').default(1).meta(option('<n>', 'How many')),
    express: z.boolean().default(false).meta(flag('At once')),
  }),
  notes: 'By post.',
  run: async () => exitCodes.good,
})
const letters = [letter, { ...letter, name: 'stamp' }]

const read = (...words: string[]) => readCommandLine(letters, words)
function problemOf(words: string[], among: readonly Command[] = letters): string {
  try {
    readCommandLine(among, words)
    return 'none'
  } catch (error) {
    return error instanceof CommandFailed && error.exitCode === 2 ? error.message : `no usage error: ${String(error)}`
  }
}

test('options come in any order, with their value apart or behind "=", and have the type of their schema', () => {
  const options = { file: 'a.txt', to: 'ada@example.com', copies: 3, express: true }
  expect(read('letter', 'send', 'a.txt', '--to', 'ada@example.com', '--copies=3', '--express')).toEqual({
    command: letter,
    options,
  })
  expect(read('letter', 'send', '--express', '--copies', '3', '--to=ada@example.com', 'a.txt')).toMatchObject({
    options,
  })
  expect(read('letter', 'send', '--to=ada@example.com', '-')).toMatchObject({
    options: { file: '-', copies: 1, express: false },
  })
})

test('--version prints the version of Rapport', () => {
  expect(read('--version')).toEqual({ print: `rapport ${version}` })
})

test.each([
  [['--to', 'ada@example.com'], '<file>: is needed'],
  [['a.txt'], '--to: is needed'],
  [['a.txt', '--to', 'nobody'], '--to: must be a mail address'],
  [['a.txt', '--to', 'nobody', '--copies', '1.5'], '--copies: must be a whole number'],
  [['a.txt', '--two', 'x'], "Unknown option '--two'"],
  [['a.txt', '-x'], "Unknown option '-x'"],
  [['a.txt', '--to'], "'--to <value>' argument missing"],
  [['a.txt', '--to', '--express'], "'--to' argument is ambiguous"],
  [['a.txt', '--express=yes'], "'--express' does not take an argument"],
  [['a.txt', 'b.txt', '--to', 'ada@example.com'], '"b.txt" is not expected here'],
])('%j is refused by its name, with code 2: %s', (words, problem) => {
  const message = problemOf(['letter', 'send', ...words])
  expect(message).toContain(problem)
  expect(message).toContain('"rapport letter send --help"')
})

test('a command that is none is told what there is', () => {
  expect(problemOf(['letter'])).toContain('"rapport letter send"')
  for (const words of [[], ['lettre'], ['--express']]) expect(problemOf(words)).toContain('"rapport --help"')
})

test('help is asked for in every usual way', () => {
  const list = { print: listCommands(letters) }
  for (const words of [['--help'], ['-h'], ['help']]) expect(read(...words)).toEqual(list)
  const { print: help } = read('letter', 'send', '--help') as { print: string }
  for (const words of [
    ['help', 'letter', 'send'],
    ['letter', 'send', '-h', '--two'],
  ]) {
    expect(read(...words)).toEqual({ help })
  }
  for (const part of ['<file>', '--to <address>', 'Who gets it', '--copies <n>', '--express', 'By post.']) {
    expect(help).toContain(part)
  }
})

test('the help names every command, and the help of each every option', () => {
  const list = (readCommandLine(commands, ['--help']) as { print: string }).print
  for (const { name, summary, options, positional } of commands) {
    expect(list).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'))
    const { print: help } = readCommandLine(commands, [...name.split(' '), '--help']) as { print: string }
    for (const option of Object.keys(options.shape)) {
      expect(help).toContain(option === positional ? `<${option}>` : `--${option}`)
      expect(options.shape[option]?.meta()?.description).toMatch(/\w/)
    }
  }
})

test.each([
  ['key create --name Site --workspace x', '--workspace: Workspace not found'],
  [
    'key create --name Site --workspace wsp_01kag7m3v9e8fs2t4w6x8y0z1b --role OWNER',
    '--role: must be VIEWER, MEMBER or',
  ],
  [
    'key create --name Site --workspace wsp_01kag7m3v9e8fs2t4w6x8y0z1b --expires 2020-01-01T00:00:00Z',
    '--expires: must',
  ],
  ['key create --name Site --workspace wsp_01kag7m3v9e8fs2t4w6x8y0z1b --expires soon', '--expires: must be a moment'],
  ['workspace create --name Engines --owner-email nobody', '--owner-email: must be a mail address'],
  ['import people.csv --on-conflict merge', '--on-conflict: must be skip or update'],
  ['import people.csv --api crm.example.com', '--api: must be an http or https address'],
  ['listen --forward localhost:4000', '--forward: must be an http or https address'],
  ['listen --forward http://localhost:4000 --types deal.eaten', '--types: must be among contact.created'],
  ['listen --forward http://localhost:4000 --secret guess', '--secret: must be whsec_'],
  ['doctor --dns-server dns.example.com', '--dns-server: must be an IP address'],
])('"rapport %s" is refused: %s', (words, problem) => {
  expect(problemOf(words.split(' '), commands)).toContain(problem)
})
