/** The tables of variables and filters, and the examples in `docs/guides/templates.md`, are those of the code. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findFaults } from './check-template.ts'
import { createEngine } from './engine/liquid.ts'
import { templateFilters } from './template-filters.ts'
import { templateVariables } from './template-variables.ts'

const chapter = readFileSync(new URL('../../../../docs/guides/templates.md', import.meta.url), 'utf8')
const customFieldKeys = ['plan', 'seats', 'renewal']
const engine = createEngine()

const code = (text: string) => (text === '' ? '' : `\`${text.replaceAll('|', '\\|')}\``)
const toRow = (cells: string[]) => `| ${cells.join(' | ')} |`
const variableRows = templateVariables.map(({ name, type, description, exampleValue }) =>
  toRow([code(name), type, description, code([exampleValue].flat().join(', '))]),
)
const filterRows = templateFilters.map(({ name, type, description, example, output }) =>
  toRow([code(name), type, description, code(example), code(output)]),
)

function readRows(heading: string): string[] {
  const [, section = ''] = chapter.split(`\n## ${heading}\n`)
  const [own = ''] = section.split('\n## ')
  return own.split('\n').filter((line) => line.startsWith('| `'))
}

test('the documentation has every variable and filter of the code', () => {
  expect(readRows('Variables').filter((row) => !row.includes('<key>'))).toEqual(variableRows)
  expect(readRows('Filters')).toEqual(filterRows)
})

test('the code has every filter of the engine', () => {
  expect(templateFilters.map(({ name }) => name).toSorted()).toEqual([...engine.filterNames].toSorted())
})

test.each(templateFilters)('the example of the filter $name is true and valid', ({ example, output }) => {
  const contact = { firstName: 'Ada', email: 'ada@example.com', tags: ['customer', 'vip'] }
  expect(engine.render(engine.parse(example), { contact })).toBe(output)
  expect(findFaults({ html: example }, { customFieldKeys: [] })).toEqual([])
})

const recipes = [...chapter.matchAll(/```liquid\n(.*?)```/gs)].map(([, source = '']) => source)

test.each(recipes)('a recipe in the documentation is a valid template: %s', (source) => {
  expect(findFaults({ html: source }, { customFieldKeys })).toEqual([])
})
