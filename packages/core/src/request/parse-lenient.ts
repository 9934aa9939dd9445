import type { z } from 'zod'

type Path = readonly PropertyKey[]

/**
 * Parses what a POST or a tool sends: `null` for a field that may be left out, and that cannot be null, is as if left out. Generated
 * clients send all fields. Not for a PATCH, where `null` could mean "clear", and not for a name that the schema leaves open,
 * such as a condition of a filter.
 */
export function parseLenient<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  options?: z.core.ParseContext<z.core.$ZodIssue>,
): z.ZodSafeParseResult<z.output<Schema>> {
  const result = schema.safeParse(input, options)
  if (result.success) return result
  const rest = structuredClone(input)
  const nulls = pathsOf(result.error).flatMap((path) => findNull(rest, path))
  if (nulls.length === 0) return result
  for (const { owner, name } of nulls) owner[name] = undefined
  // Only a field that the schema declares as optional may be undefined.
  const wrong = new Set(pathsOf(schema.safeParse(rest, options).error).map((path) => JSON.stringify(path)))
  for (const { owner, name, path } of nulls) if (!wrong.has(JSON.stringify(path))) delete owner[name]
  return parseLenient(schema, rest, options)
}

const pathsOf = (error: z.ZodError | undefined) => (error?.issues ?? []).flatMap((issue) => [...pathsOfIssue(issue)])

/** The paths at which an issue may be, in each option of a union. */
function* pathsOfIssue(issue: z.core.$ZodIssue, parent: Path = []): Generator<Path> {
  const path = [...parent, ...issue.path]
  yield path
  if (issue.code === 'invalid_union') for (const nested of issue.errors.flat()) yield* pathsOfIssue(nested, path)
}

/** The field at the path, if it is null. An entry of an array is no field: without it, the others would move. */
function findNull(root: unknown, path: Path) {
  const name = path.at(-1)
  const owner = path.slice(0, -1).reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), root)
  const isField = name !== undefined && isObject(owner) && !Array.isArray(owner) && owner[name] === null
  return isField ? { owner, name, path } : []
}

const isObject = (value: unknown): value is Record<PropertyKey, unknown> => typeof value === 'object' && value !== null
