/**
 * Which record an input is about. Contacts and companies have two keys each: `externalId`, and a second one that may change
 * (`email`, `domain`). The rules of identity are here once:
 *
 * | `externalId` is that of | the second key is that of        | the input is about            |
 * | ----------------------- | -------------------------------- | ----------------------------- |
 * | a record, or its alias  | the same record, none, or absent | this record                   |
 * | a record, or its alias  | another record                   | none: `identity_conflict`     |
 * | absent                  | a record                         | this record                   |
 * | none                    | a record without an external id  | this record                   |
 * | none                    | a record with an external id     | none: `identity_conflict`     |
 * | none, or absent         | none, or absent                  | a new record                  |
 */
import { AppError } from '../kernel/errors.ts'

export interface Keys {
  externalId?: string | null | undefined
}
interface Identified extends Keys {
  id: string
  externalId: string | null
}

/** How the records of a table are identified. */
export interface Identity<Given extends Keys, Second extends string> {
  one: 'contact' | 'company'
  many: 'contacts' | 'companies'
  /** The name of the second key. */
  second: Second
  /** The second key in the form in which it is compared; undefined for none. */
  secondOf: (keys: Given) => string | undefined
}

/** The records that have one of the keys of some inputs, and the aliases among the external ids. */
interface Known<Row extends Identified> {
  records: readonly Row[]
  aliases: ReadonlyMap<string, Row['id']>
}

type Match<Row, Second> = { record: Row; matchedBy: 'externalId' | Second } | { record: undefined; matchedBy: 'none' }

/** Known records by their keys, as they are after the inputs that were applied so far. */
export interface RecordIndex<Row extends Identified, Given extends Keys, Second extends string> {
  get: (id: Row['id']) => Row | undefined
  /** Adds a record, or replaces its former version. */
  put: (record: Row) => void
  /** Finds the record that an input is about. Throws `identity_conflict`. */
  match: (keys: Given) => Match<Row, Second>
}

export function createRecordIndex<Row extends Identified & Given, Given extends Keys, Second extends string>(
  { one, many, second, secondOf }: Identity<Given, Second>,
  { records, aliases }: Known<Row>,
): RecordIndex<Row, Given, Second> {
  const byId = new Map<string, Row>()
  const bySecond = new Map<string, string>()
  const byExternalId = new Map<string, string>()
  const get = (id: string | undefined) => (id === undefined ? undefined : byId.get(id))
  const put = (record: Row) => {
    const former = byId.get(record.id)
    const formerSecond = former && secondOf(former)
    if (formerSecond !== undefined) bySecond.delete(formerSecond)
    if (former?.externalId) byExternalId.delete(former.externalId)
    byId.set(record.id, record)
    const ownSecond = secondOf(record)
    if (ownSecond !== undefined) bySecond.set(ownSecond, record.id)
    if (record.externalId !== null) byExternalId.set(record.externalId, record.id)
  }
  const conflictOf = (conflicting: readonly Row[], message: string) =>
    new AppError('identity_conflict', message, { details: { [`${one}Ids`]: conflicting.map(({ id }) => id) } })
  for (const record of records) put(record)
  return {
    get,
    put,
    match(keys) {
      const { externalId } = keys
      const key = secondOf(keys)
      const named = externalId ? get(byExternalId.get(externalId) ?? aliases.get(externalId)) : undefined
      const found = key === undefined ? undefined : get(bySecond.get(key))
      if (named && found && named !== found)
        throw conflictOf([named, found], `externalId and ${second} belong to different ${many}`)
      if (named) return { record: named, matchedBy: 'externalId' }
      if (!found) return { record: undefined, matchedBy: 'none' }
      if (externalId && found.externalId !== null)
        throw conflictOf([found], `${second} belongs to a ${one} with another externalId`)
      return { record: found, matchedBy: second }
    },
  }
}

/**
 * Groups inputs that may concern the same record: those that share a key, directly or through a known record. The inputs
 * of a group take effect in their order, and groups do not affect each other.
 */
export function groupByRecord<
  Entry extends { input: Given },
  Row extends Identified & Given,
  Given extends Keys,
  Second extends string,
>(
  { second, secondOf }: Identity<Given, Second>,
  entries: readonly Entry[],
  { records, aliases }: Known<Row>,
): Entry[][] {
  const parents = new Map<string, string>()
  const rootOf = (key: string): string => {
    const parent = parents.get(key) ?? key
    if (parent === key) return key
    const root = rootOf(parent)
    parents.set(key, root)
    return root
  }
  const unite = ([first, ...others]: readonly string[]) => {
    for (const other of others) if (first !== undefined) parents.set(rootOf(other), rootOf(first))
  }
  const keyOfAlias = (externalId: string) => `externalId ${externalId}`
  /** The keys as texts that cannot be equal by accident. */
  const keysOf = (keys: Given): string[] => {
    const key = secondOf(keys)
    return [
      ...(key === undefined ? [] : [`${second} ${key}`]),
      ...(keys.externalId ? [keyOfAlias(keys.externalId)] : []),
    ]
  }
  for (const record of records) unite([record.id, ...keysOf(record)])
  for (const [externalId, id] of aliases) unite([id, keyOfAlias(externalId)])
  for (const { input } of entries) unite(keysOf(input))
  return [...Map.groupBy(entries, ({ input }) => rootOf(keysOf(input)[0] ?? '')).values()]
}
