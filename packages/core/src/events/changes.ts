/** What an update changed: `changes` in the `data` of every `*.updated`. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { EmittedType, EventDefinition, EventSubject } from './event-definition.ts'

/** A record before and after an update, as the API shows it. */
export interface Update<Data> {
  before: Data
  after: Data
}

/** Returns the updates of records that had other values in some fields. */
export const updatesFrom = <Data>(records: readonly Data[], former: Partial<NoInfer<Data>>): Update<Data>[] =>
  records.map((after) => ({ before: { ...after, ...former }, after }))

type Changes = Record<string, { from: unknown; to: unknown }>

export type Updated<Data> = Data & { changes: Changes | null }

/** Custom values change one by one: `customFieldValues.<key>`. */
export const customValues = 'customFieldValues'
const unlisted = ['updatedAt', 'lastActivityAt']
export const unchangeable = ['id', 'createdAt', ...unlisted]

const maxBytes = 16_384

/**
 * Returns the names of the changed fields, and the record with `changes`, or with null if these are too large.
 * `customFieldValues` is the name of any custom value.
 */
export function toUpdated<Data extends object>({
  before,
  after,
}: Update<Data>): {
  changed: string[]
  data: Updated<Data>
} {
  const [from, to] = [flatten(before), flatten(after)]
  const fields = [...new Set([...from.keys(), ...to.keys()])].filter(
    (field) => !unlisted.includes(field) && !isDeepStrictEqual(from.get(field), to.get(field)),
  )
  const changes = Object.fromEntries(
    fields.map((field) => [field, { from: from.get(field) ?? null, to: to.get(field) ?? null }]),
  )
  const isTooLarge = Buffer.byteLength(JSON.stringify(changes)) > maxBytes
  const changed = fields.some((field) => field.startsWith(`${customValues}.`)) ? [...fields, customValues] : fields
  return { changed, data: { ...after, changes: isTooLarge ? null : changes } }
}

function flatten(record: object): Map<string, unknown> {
  const fields = Object.entries(record).flatMap(([name, value]): [string, unknown][] =>
    name === customValues
      ? Object.entries(value as object).map(([key, value]) => [`${customValues}.${key}`, value])
      : [[name, value]],
  )
  return new Map(fields)
}

/** Defines an event whose `data` is the updated record with `changes`. `exampleChanges` are those of the example. */
export function defineUpdate<Data extends EventSubject, Type extends EmittedType & `${string}.updated`>(
  type: Type,
  record: z.ZodObject & z.ZodType<Data>,
  exampleChanges: { readonly [Field in keyof Data]?: unknown },
): EventDefinition<Updated<Data>, Type> {
  const { id = '', examples: [before = {}] = [] } = (record.meta() ?? {}) as { id?: string; examples?: object[] }
  const example = toUpdated({ before, after: { ...before, ...exampleChanges } }).data
  const schema = z.object({ ...record.shape, changes: ChangesOf(record) }).meta({
    id: `Updated${id}`,
    description: `The ${id.toLowerCase()} after an update, with what the update changed.`,
    examples: [example],
  })
  return { type, schema: schema as unknown as z.ZodType<Updated<Data>>, example }
}

function ChangesOf({ shape }: z.ZodObject) {
  const hasCustomValues = customValues in shape
  const fields = Object.entries(shape).filter(([name]) => ![customValues, ...unchangeable].includes(name))
  const changes = z.object(
    Object.fromEntries(fields.map(([name, schema]) => [name, Change(schema as z.ZodType, name).optional()])),
  )
  const CustomValue = z.union([z.string(), z.number(), z.boolean()]).nullable()
  return (hasCustomValues ? changes.catchall(Change(CustomValue, 'customFieldValues.<key>')) : changes)
    .nullable()
    .describe(
      `The changed fields other than ${hasCustomValues ? '`updatedAt` and `lastActivityAt`' : '`updatedAt`'}. \`null\` if they have more than 16 KiB, as JSON${'contactErasedAt' in shape ? ', or if the contact was erased' : ''}.`,
    )
}

function Change(schema: z.ZodType, name: string) {
  const nullMeaning = schema.safeParse(null).success ? ' `null` for none.' : ''
  return z
    .object({
      from: z.clone(schema).describe(`The value before the update.${nullMeaning}`),
      to: z.clone(schema).describe(`The value after the update.${nullMeaning}`),
    })
    .describe(`The change of \`${name}\`.`)
}
