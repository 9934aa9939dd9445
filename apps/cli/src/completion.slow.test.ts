/** Runs the completion scripts in the shells themselves. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, unpackDebianPackage } from '@rapport/testing/processes/debian-package.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { expect, test, type TestContext } from 'vitest'
import { loadCommands } from './commands.ts'
import { formatCompletion, type Shell, shells } from './completion.ts'
import { describeOptions } from './help.ts'

const run = promisify(execFile)
const commands = await loadCommands()
const folder = useForFile(() => {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'rapport-completion-')))
  mkdirSync(join(path, 'some folder'))
  writeFileSync(join(path, 'people.csv'), '')
  return { path, close: () => rmSync(path, { recursive: true }) }
})

/** Reads the completions of the last word, which may be empty, from a shell that has loaded the script. */
const completers: Record<Shell, (program: string, words: string[]) => Promise<string[]>> = {
  async bash(program, words) {
    const script = `${formatCompletion('bash', commands)}
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _rapport
      printf '%s\\n' "\${COMPREPLY[@]}"`
    return complete(program, ['--norc', '-u', '-c', script, 'bash', 'rapport', ...words])
  },
  // The functions that show choices need a terminal: these print them.
  async zsh(program, words) {
    const script = `
      module_path+=('${dirname(program)}'/usr/lib/*/zsh/*(N))
      compdef() {}
      _describe() { printf '%s\\n' "\${(@P)2}" }
      _files() { printf '%s\\n' * }
      ${formatCompletion('zsh', commands)}
      words=("$@") CURRENT=$#
      _rapport`
    const printed = await complete(program, ['-f', '-c', script, 'zsh', 'rapport', ...words])
    return printed.map((choice) => choice.split(':')[0] ?? '').filter((word) => word.startsWith(words.at(-1) ?? ''))
  },
  async fish(program, words) {
    const script = `${formatCompletion('fish', commands)}
      complete --do-complete "rapport ${words.join(' ')}"`
    const printed = await complete(program, ['--no-config', '-c', script])
    return printed.map((choice) => choice.split('\t')[0] ?? '')
  },
}

async function complete(program: string, parameters: string[]): Promise<string[]> {
  const env = { HOME: folder.path, PATH: '/usr/bin:/bin' }
  const { stdout, stderr } = await run(program, parameters, { cwd: folder.path, env })
  expect(stderr).toBe('')
  return stdout.split('\n').filter(Boolean)
}

/** Installed, or unpacked from its Debian package. */
async function findShell(shell: Shell): Promise<string | undefined> {
  // zsh is in bin/ before Debian merged it with usr/bin/.
  // fish finds its functions beside etc/.
  const preparation = [
    '[ -e "$here/bin" ] || ln -s usr/bin "$here/bin"',
    '[ -e "$here/usr/etc" ] || ln -s ../etc "$here/usr/etc"',
  ]
  return (
    (await findProgram([shell])) ?? (await unpackDebianPackage({ name: shell, program: `bin/${shell}`, preparation }))
  )
}

const programs = new Map(await Promise.all(shells.map(async (shell) => [shell, await findShell(shell)] as const)))

/** Returns a function that reads completions in sorted order. */
function openShell(shell: Shell, { skip }: TestContext) {
  const program = programs.get(shell) ?? skip(`${shell} is neither installed nor available as a Debian package`)
  return async (...words: string[]) => (await completers[shell](program, words)).toSorted()
}

test.for(shells)('%s completes all commands, in one or two words', async (shell, context) => {
  const read = openShell(shell, context)
  const first = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? '')), '--help', '--version']
  expect(await read('')).toEqual(first.toSorted())
  expect(await read('ke')).toEqual(['key'])
  expect(await read('key', '')).toEqual(['create', 'list', 'revoke'])
  expect(await read('workspace', 'su')).toEqual(['suspend'])
  expect(await read('unknown', '')).toEqual([])
})

test.for(shells)('%s completes all options of each command', async (shell, context) => {
  const read = openShell(shell, context)
  // The same code writes those of all: at the gate, every third.
  for (const command of commands.filter((_, index) => isFullRun || index % 3 === 0)) {
    const options = describeOptions(command).filter(({ isPositional }) => !isPositional)
    const expected = [...options.map(({ name }) => `--${name}`), '--help']
    expect(await read(...command.name.split(' '), '--')).toEqual(expected.toSorted())
  }
})

test.for(shells)('%s completes the values of an option, wherever it stands', async (shell, context) => {
  const read = openShell(shell, context)
  const roles = ['ADMIN', 'MEMBER', 'VIEWER']
  expect(await read('key', 'create', '--role', '')).toEqual(roles)
  expect(await read('key', 'create', '--name', 'x', '--role', '')).toEqual(roles)
  expect(await read('key', 'create', '--role', 'V')).toEqual(['VIEWER'])
  expect(await read('import', 'x.csv', '--on-conflict', '')).toEqual(['skip', 'update'])
  expect(await read('completion', 'z')).toEqual(['zsh'])
  // A free text.
  expect(await read('key', 'create', '--name', '')).toEqual([])
})

test.for(shells)('%s completes files where a command reads one', async (shell, context) => {
  const read = openShell(shell, context)
  const found = await read('import', '')
  expect(found).toEqual(expect.arrayContaining(['people.csv', expect.stringMatching(/^some folder\/?$/)]))
  expect(await read('queue', 'peop')).toEqual([])
})
