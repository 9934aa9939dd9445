/** Compares docs/command-line.md, and the line for cron in docs/backup.md, with the definitions of the commands. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectDirectory } from '@rapport/core/runtime/local-instance.ts'
import { expect, test } from 'vitest'
import { parseCommandLine } from './command-line.ts'
import { commands as listed, loadCommands } from './commands.ts'
import { describeOptions } from './help.ts'

const commands = await loadCommands()
const page = readFileSync(join(projectDirectory, 'docs/command-line.md'), 'utf8')
const [introduction = '', ...sections] = page.split(/^## /m)
/** The sections of commands, by name, in their order. */
const commandSections = new Map(
  sections.flatMap((section) => {
    const [, name] = /^`rapport ([a-z -]+)`\n/.exec(section) ?? []
    return name === undefined ? [] : [[name, section] as const]
  }),
)
const names = commands.map(({ name }) => name)

test('every command has a section, in the order of the help', () => {
  expect([...commandSections.keys()]).toEqual(names)
})

test('the overview links every command, in the same order', () => {
  const overview = introduction + sections.find((section) => section.startsWith('Installation'))
  const links = [...overview.matchAll(/^\| \[`([a-z -]+)`\]\(#rapport-([a-z-]+)\)/gm)]
  expect(links.map(([, name]) => name)).toEqual(names)
  for (const [, name = '', anchor] of links) expect(anchor).toBe(name.replaceAll(' ', '-'))
})

test('the page names options that exist, and no others', () => {
  for (const [name, section] of commandSections) {
    const command = commands.find((one) => one.name === name)
    const options = command ? describeOptions(command).map((one) => `--${one.name}`) : []
    const named = [...section.matchAll(/`(--[a-z-]+)/g)].map(([, option]) => option)
    expect([...options, '--help']).toEqual(expect.arrayContaining(named))
  }
})

test('the page says what --json prints for every command', () => {
  const table = sections.find((section) => section.startsWith('JSON\n')) ?? ''
  const withoutJson = ['api', 'worker', 'migrate']
  const missing = names.filter((name) => !withoutJson.includes(name) && !table.includes(`\`${name}\``))
  expect(missing).toEqual([])
})

test('the help gives each option the values of its definition', () => {
  for (const command of commands)
    for (const { values, description } of describeOptions(command))
      for (const value of values) expect(`${description} ${command.notes}`).toMatch(new RegExp(`\\b${value}\\b`))
})

test('every example is a command line that its command accepts', async () => {
  const ending = '01kag7m3v9e8fs2t4w6x8y0z1b'
  const shell = [...page.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block).join('\n')
  const examples = shell.replaceAll('…', ending).replaceAll('$WORKSPACE', `wsp_${ending}`)
  const lines = [...examples.matchAll(/\brapport ([a-z][^|<)\n]*)/g)].map(([, line = '']) => line)
  expect(lines.length).toBeGreaterThan(40)
  for (const line of lines) {
    const words = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''))
    const parsed = await parseCommandLine(listed, words)
    expect([line, 'options' in parsed]).toEqual([line, true])
  }
})

test('the line for cron names the folder of the backups', async () => {
  const text = readFileSync(join(projectDirectory, 'docs/backup.md'), 'utf8')
  const [, line = ''] = /^```crontab\n.* bin\/rapport (.*)$/m.exec(text) ?? []
  const parsed = await parseCommandLine(listed, line.split(' '))
  expect(parsed).toMatchObject({ options: { directory: '/var/backups/rapport', 'keep-days': 30 } })
})
