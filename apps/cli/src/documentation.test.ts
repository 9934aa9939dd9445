/** Compares docs/command-line.md with the definitions of the commands. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectDirectory } from '@rapport/core/runtime/local-instance.ts'
import { expect, test } from 'vitest'
import { loadCommands } from './commands.ts'
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

test.each(commands.map((command) => [command.name, command] as const))(
  'the section of "%s" has every argument and option, and no others',
  (name, command) => {
    const expected = describeOptions(command).map(({ name, isPositional, placeholder }) => {
      if (isPositional) return placeholder
      return placeholder === undefined ? `--${name}` : `--${name} ${placeholder}`
    })
    const rows = [...(commandSections.get(name) ?? '').matchAll(/^\| `(--?[^`]*|<[^`]*>)` \| (.+) \|$/gm)]
    expect(new Set(rows.map(([, label]) => label))).toEqual(new Set(expected))
  },
)

test('the page gives each option the values of its definition', () => {
  for (const command of commands) {
    const section = commandSections.get(command.name) ?? ''
    for (const { name, values } of describeOptions(command)) {
      const row = section
        .split('\n')
        .find((line) => line.startsWith(`| \`--${name}`) || line.startsWith(`| \`<${name}>`))
      for (const value of values) expect(row).toContain(`\`${value}\``)
    }
  }
})
