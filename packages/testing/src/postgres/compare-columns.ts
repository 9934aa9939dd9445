/** Compares the columns of a statement with their declaration. */
import { toColumnName } from '@rapport/core/db/statements/named-statement.ts'
import { type DeclaredType, toSqlType } from '@rapport/core/db/statements/sql-types.ts'

const scalarTypes = {
  uuid: 2950,
  text: 25,
  integer: 23,
  bigint: 20,
  'double precision': 701,
  numeric: 1700,
  boolean: 16,
  'timestamp with time zone': 1184,
  date: 1082,
  json: 114,
  jsonb: 3802,
  xid8: 5069,
  bytea: 17,
}
const arrayTypes = {
  'uuid[]': 2951,
  'text[]': 1009,
  'integer[]': 1007,
  'boolean[]': 1000,
  'jsonb[]': 3807,
  'double precision[]': 1022,
  'timestamp with time zone[]': 1185,
}
/** The names of the types, by the OIDs that results contain. */
const typeNames = new Map(Object.entries({ ...scalarTypes, ...arrayTypes }).map(([name, oid]) => [oid, name]))
export const nameOfType = (oid: number) => typeNames.get(oid) ?? `the type ${oid}`

export interface ReturnedColumn {
  name: string
  type: number
}

/** Returns what is wrong with a declaration, or with the statement. */
export function compareColumns(declared: Record<string, DeclaredType>, returned: readonly ReturnedColumn[]): string[] {
  const expected = Object.entries(declared).map(([name, type]) => `${toColumnName(name)} ${toSqlType(type).sqlType}`)
  const actual = returned.map(({ name, type }) => `${name} ${nameOfType(type)}`)
  return [
    ...expected.filter((column) => !actual.includes(column)).map((column) => `does not return ${column}`),
    ...actual.filter((column) => !expected.includes(column)).map((column) => `does not declare ${column}`),
  ]
}
