/** Matches the columns of a file of addresses to suppress. One column of addresses needs no header. */
import { AppError, invalidField } from '../../kernel/errors.ts'
import { Email } from '../../kernel/validation.ts'
import { trimInvisible } from '../../kernel/values/text.ts'
import { normalizeName, requireHeaders, resolveColumns } from './column-names.ts'
import type { ColumnMatcher } from './import-header.ts'

const properties = ['email', 'reason', 'saidAt', 'listId']
/** Properties by their column names. */
const propertiesByName = new Map([
  ...properties.map((property) => [normalizeName(property), property] as const),
  ['emailaddress', 'email'],
  ['mail', 'email'],
  ['address', 'email'],
  ['recipient', 'email'],
  ['status', 'reason'],
  ['createdat', 'saidAt'],
  ['created', 'saidAt'],
  ['date', 'saidAt'],
])
const known = `Known columns: ${properties.join(', ')}`

interface Options {
  columns?: Readonly<Record<string, string | null>> | undefined
  unknownColumns?: 'error' | 'ignore' | undefined
}

export function createSuppressionColumnMatcher({ columns = {}, unknownColumns = 'error' }: Options): ColumnMatcher {
  const given = new Map(Object.entries(columns).map(([name, target]) => [normalizeName(trimInvisible(name)), target]))
  for (const target of given.values())
    if (target !== null && !properties.includes(target))
      throw invalidField('columns', `must map headers to ${properties.join(', ')} or null`)
  const matchName = (text: string): string | null | undefined => {
    const name = normalizeName(trimInvisible(text))
    const byCaller = given.get(name)
    return byCaller === undefined ? (name === '' ? '' : propertiesByName.get(name)) : byCaller
  }
  return {
    isKnown: (name) => Boolean(matchName(name)) || isAddress(name),
    isData: hasAddress,
    match(names) {
      if (hasAddress(names)) return { columns: withoutHeader(names) }
      requireHeaders(given, names)
      const matched = resolveColumns(names, {
        matchName,
        repeatable: [],
        ignoresUnknown: unknownColumns === 'ignore',
        listKnown: () => known,
      })
      if (!matched.includes('email')) throw new AppError('validation_error', `The file has no column email. ${known}`)
      return { columns: matched }
    },
  }
}

const isAddress = (text: string) => Email.safeParse(text).success
const hasAddress = (names: readonly string[]) => names.some(isAddress)

function withoutHeader(cells: readonly string[]): string[] {
  if (cells.filter((cell) => cell.trim() !== '').length > 1)
    throw new AppError('validation_error', `The file has several columns but no header. ${known}`)
  return cells.map((cell) => (isAddress(cell) ? 'email' : ''))
}
