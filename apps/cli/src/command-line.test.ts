import { version } from '@rapport/core/runtime/version.ts'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { CommandFailed, defineCommand, exitCodes, flag, jsonFlag, type ListedCommand, option } from './command.ts'
import { parseCommandLine } from './command-line.ts'
import { commands, loadCommands } from './commands.ts'
import { listCommands } from './help.ts'

const definition = defineCommand({
  positionals: ['file'],
  options: z.strictObject({
    file: z.string().meta(option('<file>', 'File to send')),
    to: z.email('must be an email address').meta(option('<address>', 'Recipient of the report')),
    copies: z.coerce.number().int('must be a whole number').default(1).meta(option('<n>', 'Number of copies')),
    express: z.boolean().default(false).meta(flag('Sends it immediately')),
    json: jsonFlag('Prints the report as JSON'),
  }),
  notes: 'Supports PDF only.',
  run: async () => exitCodes.success,
})
const reportSend: ListedCommand = {
  name: 'report send',
  group: 'Installation',
  summary: 'Sends a report',
  load: async () => definition,
}
const sampleCommands = [reportSend, { ...reportSend, name: 'print' }]

const read = (...words: string[]) => parseCommandLine(sampleCommands, words)
async function findUsageError(words: string[], among: readonly ListedCommand[] = sampleCommands): Promise<string> {
  try {
    await parseCommandLine(among, words)
    return 'none'
  } catch (error) {
    return error instanceof CommandFailed && error.exitCode === 2 ? error.message : `no usage error: ${String(error)}`
  }
}

test('parses options in any order, as "--name value" and as "--name=value"', async () => {
  const options = { file: 'a.txt', to: 'ada@example.com', copies: 3, express: true, json: false }
  expect(await read('report', 'send', 'a.txt', '--to', 'ada@example.com', '--copies=3', '--express')).toEqual({
    command: { ...reportSend, ...definition },
    options,
  })
  expect(await read('report', 'send', '--express', '--copies', '3', '--to=ada@example.com', 'a.txt')).toMatchObject({
    options,
  })
  expect(await read('report', 'send', '--to=ada@example.com', '-')).toMatchObject({
    options: { file: '-', copies: 1, express: false },
  })
})

test('--version and -v print the version of Rapport, with --json as JSON', async () => {
  for (const word of ['--version', '-v']) expect(await read(word)).toEqual({ print: `rapport ${version}` })
  expect(await read('--version', '--json')).toEqual({ print: JSON.stringify({ version }) })
  expect(await findUsageError(['--version', 'now'])).toContain('Unexpected argument "now"')
})

test.each([
  [['--to', 'ada@example.com'], '<file>: is required'],
  [['a.txt'], '--to: is required'],
  [['a.txt', '--to', 'invalid'], '--to: must be an email address'],
  [['a.txt', '--to', 'invalid', '--copies', '1.5'], '--copies: must be a whole number'],
  [['a.txt', '--two', 'x'], "Unknown option '--two'"],
  [['a.txt', '--expres'], 'Unknown option \'--expres\' (did you mean "--express"?)'],
  [['a.txt', '-x'], "Unknown option '-x'"],
  [['a.txt', '--to'], "'--to <value>' argument missing"],
  [['a.txt', '--to', '--express'], "'--to' argument is ambiguous"],
  [['a.txt', '--express=yes'], "'--express' does not take an argument"],
  [['a.txt', 'b.txt', '--to', 'ada@example.com'], 'Unexpected argument "b.txt"'],
])('rejects %j with exit code 2: %s', async (words, problem) => {
  const message = await findUsageError(['report', 'send', ...words])
  expect(message).toContain(problem)
  expect(message).toContain('"rapport report send --help"')
})

test('the error for an unknown command names the available commands', async () => {
  expect(await findUsageError(['report'])).toBe(
    '"report" is incomplete. Its commands are:\n  report send  Sends a report',
  )
  for (const words of [[], ['reprot'], ['--express']]) expect(await findUsageError(words)).toContain('"rapport --help"')
  expect(await findUsageError(['reprot'])).toContain('Unknown command "reprot" (did you mean "report"?)')
  expect(await findUsageError(['report', 'snd'])).toContain(
    'Unknown command "report snd" (did you mean "report send"?)',
  )
})

test('shows the help for --help, -h and help', async () => {
  const list = { print: listCommands(sampleCommands) }
  for (const words of [['--help'], ['-h'], ['help']]) expect(await read(...words)).toEqual(list)
  const { print: help } = (await read('report', 'send', '--help')) as { print: string }
  for (const words of [
    ['help', 'report', 'send'],
    ['report', 'send', '-h', '--two'],
  ]) {
    expect(await read(...words)).toEqual({ print: help })
  }
  for (const part of [
    '<file>',
    '--to <address>',
    'Recipient of the report',
    '--copies <n>',
    '--express',
    'Supports PDF only.',
  ]) {
    expect(help).toContain(part)
  }
})

test('shows the commands of a group for its --help', async () => {
  const print = listCommands([reportSend])
  for (const words of [
    ['report', '--help'],
    ['report', '-h'],
    ['help', 'report'],
  ])
    expect(await read(...words)).toEqual({ print })
})

test('every command has --json, but for the programs, which have no result', async () => {
  const without = (await loadCommands()).filter(({ options }) => !('json' in options.shape)).map(({ name }) => name)
  expect(without).toEqual(['api', 'worker', 'migrate'])
})

test('the help lists all commands, and the help of a command lists all its options', async () => {
  const list = ((await parseCommandLine(commands, ['--help'])) as { print: string }).print
  for (const { name, summary, options, positionals } of await loadCommands()) {
    expect(list).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'))
    const { print: help } = (await parseCommandLine(commands, [...name.split(' '), '--help'])) as { print: string }
    for (const option of Object.keys(options.shape)) {
      expect(help).toContain(positionals?.includes(option) ? `<${option}>` : `--${option}`)
      expect(options.shape[option]?.meta()?.description).toMatch(/\w/)
    }
  }
})

test('key create reads rights with spaces around the commas', async () => {
  const words = ['key', 'create', '--name', 'Site', '--workspace', 'wsp_01kag7m3v9e8fs2t4w6x8y0z1b']
  const parsed = await parseCommandLine(commands, [...words, '--rights', 'contacts.* , -contacts.export'])
  expect(parsed).toMatchObject({ options: { rights: ['contacts.*', '-contacts.export'] } })
})

test.each([
  ['key create --name Site --workspace x', '--workspace: must be the id of a workspace (wsp_ and 26'],
  [
    'key create --name Site --workspace wsp_01kag7m3v9e8fs2t4w6x8y0z1b --role OWNER',
    '--role: must be one of VIEWER, MEMBER',
  ],
  [
    'key create --name Site --workspace wsp_01kag7m3v9e8fs2t4w6x8y0z1b --expires 2020-01-01T00:00:00Z',
    '--expires: must',
  ],
  [
    'key create --name Site --workspace wsp_01kag7m3v9e8fs2t4w6x8y0z1b --expires soon',
    '--expires: must be a timestamp',
  ],
  [
    'workspace suspend key_01kag7m3v9e8fs2t4w6x8y0z1b',
    '<workspace>: must be the id of a workspace (wsp_ and 26 characters), not of an API key',
  ],
  ['workspace create --name Engines --owner-email invalid', '--owner-email: must be an email address'],
  ['import people.csv --on-conflict merge', '--on-conflict: must be skip or update'],
  ['import people.csv --api crm.example.com', '--api: must be an http or https URL'],
  ['listen --forward localhost:4000', '--forward: must be an http or https URL'],
  ['listen --forward http://localhost:4000 --types deal.eaten', '--types: must be one of contact.created'],
  ['listen --forward http://localhost:4000 --secret guess', '--secret: must be whsec_'],
  ['doctor --dns-server dns.example.com', '--dns-server: must be an IP address'],
  ['doctor --dns-server 9.9.9', '--dns-server: must be an IP address'],
])('rejects "rapport %s": %s', async (words, problem) => {
  expect(await findUsageError(words.split(' '), commands)).toContain(problem)
})
