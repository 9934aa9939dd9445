/** The configuration table of the README and `.env.example` list the variables that the programs read. */
import { describeVariables } from '@rapport/core/runtime/config.ts'
import { expect, test } from 'vitest'
import { readRepositoryText } from './repository-texts.ts'

const variables = describeVariables()
const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1)

test('the table of the README has every variable, with its programs and its default', () => {
  const rows = [...readRepositoryText('README.md').matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]*)\|/gm)]
  const documented = rows.map(([, name = '', readBy = '', defaultValue = '']) => ({
    name,
    readBy: readBy.trim().split(', '),
    default: defaultValue.replaceAll('`', '').trim(),
  }))
  const expected = variables.map(({ name, readBy, isRequired, defaultValue }) => ({
    name,
    readBy,
    default: isRequired ? 'required' : [defaultValue].flat().join(','),
  }))
  expect(documented.toSorted(byName)).toEqual(expected.toSorted(byName))
})

/** systemd sets it. */
const setByOthers = ['NOTIFY_SOCKET']

test('.env.example has every variable that an operator sets', () => {
  const names = [...readRepositoryText('.env.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name = '']) => name)
  const expected = variables.map(({ name }) => name).filter((name) => !setByOthers.includes(name))
  expect(names.toSorted()).toEqual(expected.toSorted())
})
