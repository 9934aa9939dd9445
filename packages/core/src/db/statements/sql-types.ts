/** The types of the parameters and columns that a named statement declares. */
import { type GetColumnData, is } from 'drizzle-orm'
import { PgColumn } from 'drizzle-orm/pg-core'
import { type Timestamp, timestampOf } from '../../kernel/values/timestamps.ts'

/** A type of PostgreSQL. Conversions that are absent are not needed, and none is called with null. */
export interface SqlType<Value> {
  /** Its name in SQL. */
  readonly sqlType: string
  /** Converts a parameter for the driver. */
  readonly encode?: (value: unknown) => unknown
  /** Converts what the driver has read. */
  readonly decode?: (value: unknown) => unknown
  /** Exists only for the type of the values. */
  readonly value?: Value
}

/** A column of a table stands for its type: branded ids, enums and dates are those of the schema. */
export type DeclaredType = SqlType<unknown> | PgColumn
export type ValueOf<Type> = Type extends PgColumn
  ? GetColumnData<Type>
  : Type extends SqlType<infer Value>
    ? Value
    : never
export type ValuesOf<Types> = { [Name in keyof Types]: ValueOf<Types[Name]> }

const plain = <Value>(sqlType: string): SqlType<Value> => ({ sqlType })

export const uuid = plain<string>('uuid')
export const text = plain<string>('text')
export const int = plain<number>('integer')
export const float = plain<number>('double precision')
export const bool = plain<boolean>('boolean')
/** For numbers that are safe integers, such as counts. */
export const bigint: SqlType<number> = { sqlType: 'bigint', decode: Number }
export const timestamptz: SqlType<Timestamp> = {
  sqlType: 'timestamp with time zone',
  decode: (value) => timestampOf(value as string),
}
export const json = <Value>() => plain<Value>('json')
export const jsonb = <Value>() => plain<Value>('jsonb')
/** A text of which the statement produces these values only. */
export const textOf = <Value extends string>() => plain<Value>('text')

/** A column that may be null, such as that of an outer join. */
export function nullable<Type extends DeclaredType>(type: Type): SqlType<ValueOf<Type> | null> {
  return toSqlType(type) as SqlType<ValueOf<Type> | null>
}

/** A nullable column of a table of which the statement returns no null. */
export function required<Type extends DeclaredType>(type: Type): SqlType<NonNullable<ValueOf<Type>>> {
  return toSqlType(type) as SqlType<NonNullable<ValueOf<Type>>>
}

export function arrayOf<Type extends DeclaredType>(type: Type): SqlType<readonly ValueOf<Type>[]> {
  const { sqlType, encode, decode } = toSqlType(type)
  const eachOf = (convert: (value: unknown) => unknown) => (values: unknown) =>
    (values as unknown[]).map((value) => (value === null ? null : convert(value)))
  return {
    sqlType: `${sqlType}[]`,
    ...(encode && { encode: eachOf(encode) }),
    ...(decode && { decode: eachOf(decode) }),
  }
}

/** Without the precision of the column: a cast to it would round. */
export function toSqlType(type: DeclaredType): SqlType<unknown> {
  if (!is(type, PgColumn)) return type as SqlType<unknown>
  return {
    sqlType: type.getSQLType().replace(/ ?\(\d+\)/, ''),
    encode: (value) => type.mapToDriverValue(value),
    decode: (value) => type.mapFromDriverValue(value),
  }
}
