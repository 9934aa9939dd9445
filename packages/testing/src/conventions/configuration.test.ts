/**
 * What the documentation, `.env.example`, Docker Compose and the Helm chart say about the variables of the environment
 * agrees with what the programs read.
 */
import { quotaNames } from '@rapport/core/kernel/quotas.ts'
import { describeVariables } from '@rapport/core/runtime/config.ts'
import { expect, test } from 'vitest'
import { composeText, readComposeServices } from '../deployment/compose-file.ts'
import { readRepositoryText } from './repository-texts.ts'

const variables = describeVariables()
const names = variables.map(({ name }) => name).toSorted()
const required = variables.flatMap(({ name, isRequired }) => (isRequired ? [name] : []))
const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1)

/** A row of a table: the variable, its programs, its default, its meaning. */
const row = /^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]*)\| [^|]+ \|$/gm
const rowsOf = (path: string) => [...readRepositoryText(path).matchAll(row)]

test('docs/configuration.md has every variable, with its programs and its default', () => {
  const documented = rowsOf('docs/configuration.md').map(([, name = '', readBy = '', defaultValue = '']) => ({
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

test('docs/guides/limits.md has a row for every quota', () => {
  const [, table = ''] = readRepositoryText('docs/guides/limits.md').split('| Quota | Default | Counts |')
  const firstCells = [...table.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = '']) => cell.split(', '))
  expect(firstCells.toSorted()).toEqual(quotaNames.map((name) => `\`${name}\``).toSorted())
})

test('the README is short: at most 25 rows of that page, with the required ones', () => {
  const all = rowsOf('docs/configuration.md').map(([text]) => text)
  const rows = rowsOf('README.md')
  expect(rows.map(([text]) => text).filter((text) => !all.includes(text))).toEqual([])
  expect(rows.map(([, name]) => name)).toEqual(expect.arrayContaining(required))
  expect(rows.length).toBeLessThanOrEqual(25)
  expect(readRepositoryText('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(250)
})

test('.env.example has every variable, with its default or whether it is required', () => {
  const assignments = [...readRepositoryText('.env.example').matchAll(/((?:^#.*\n)*)^([A-Z_]+)=/gm)]
  expect(assignments.map(([, , name = '']) => name).toSorted()).toEqual(names)
  const comments = new Map(assignments.map(([, comment = '', name = '']) => [name, comment.replaceAll('\n# ', ' ')]))
  const wrong = variables.filter(({ name, isRequired, defaultValue }) => {
    const text = [defaultValue].flat().join(',')
    const expected = isRequired ? /\(required by / : text === '' ? /\(default: / : new RegExp(`\\(default: ${text}[);]`)
    return !expected.test(comments.get(name) ?? '')
  })
  expect(wrong.map(({ name }) => name)).toEqual([])
})

/** The variables of the programs that Docker Compose takes from `.env`, and those that it sets itself. */
function readComposeVariables() {
  const own = ['POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'RAPPORT_IMAGE', 'REVISION']
  const mine = Object.fromEntries([...names, ...own].map((name) => [name, `mine://${name}`]))
  const environment = readComposeServices(mine)['api-3001']?.environment ?? {}
  const isFixed = ([name, value]: [string, string]) => value !== mine[name]
  const fixed = Object.entries(environment)
    .filter(isFixed)
    .map(([name]) => name)
  const referenced = [...composeText.matchAll(/\$\{([A-Z_]+)/g)].map(([, name = '']) => name)
  return { fixed, set: Object.keys(environment), referenced: referenced.filter((name) => !own.includes(name)) }
}

test('Docker Compose sets variables that exist; .env.example names its own', () => {
  const { fixed, set, referenced } = readComposeVariables()
  expect([...set, ...referenced].filter((name) => !names.includes(name))).toEqual([])
  expect(set).toEqual(expect.arrayContaining(required))
  const example = readRepositoryText('.env.example').replaceAll('\n# ', ' ')
  const [, sentence = ''] = /Docker Compose reads the same file, and sets ([^.]+) itself/.exec(example) ?? []
  expect(sentence.split(/, | and /)).toEqual(fixed)
})

test('the chart accepts every variable that it does not set, but no secret', () => {
  const schema = JSON.parse(readRepositoryText('ops/helm/rapport/values.schema.json')) as {
    properties: { config: { properties: Record<string, unknown> } }
  }
  const fixed = new Set([...readComposeVariables().fixed, 'PG_DUMP'])
  const isSecret = (name: string) => /(_URL|_KEY|_KEY_PREVIOUS|_TOKEN|_PASSWORD)$/.test(name) && name !== 'PUBLIC_URL'
  const expected = names.filter((name) => !fixed.has(name) && !isSecret(name))
  expect(Object.keys(schema.properties.config.properties).toSorted()).toEqual(expected)
})
