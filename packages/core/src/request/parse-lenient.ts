import type { z } from 'zod'

type Path = readonly PropertyKey[]

/**
 * Parses what a POST or a tool sends: `null` for a field that may be left out, and that cannot be null, is as if left out. Generated
 * clients send all fields. Not for a PATCH, where `null` could mean "clear".
 */
export function parseLenient<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  options?: z.core.ParseContext<z.core.$ZodIssue>,
): z.ZodSafeParseResult<z.output<Schema>> {
  const result = schema.safeParse(input, options)
  if (result.success) return result
  const nulls = result.error.issues.flatMap((issue) => [...pathsOf(issue)]).filter((path) => ownerOfNull(input, path))
  if (nulls.length === 0) return result
  const rest = structuredClone(input)
  for (const path of nulls) delete ownerOfNull(rest, path)?.[path.at(-1) ?? '']
  return parseLenient(schema, rest, options)
}

/** The paths at which an issue may be, in each option of a union. */
function* pathsOf(issue: z.core.$ZodIssue, parent: Path = []): Generator<Path> {
  const path = [...parent, ...issue.path]
  yield path
  if (issue.code === 'invalid_union') for (const nested of issue.errors.flat()) yield* pathsOf(nested, path)
}

/** The object whose field at the path is null. An entry of an array is no field: without it, the others would move. */
function ownerOfNull(root: unknown, path: Path): Record<PropertyKey, unknown> | undefined {
  const name = path.at(-1)
  const owner = path.slice(0, -1).reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), root)
  return name !== undefined && isObject(owner) && !Array.isArray(owner) && owner[name] === null ? owner : undefined
}

const isObject = (value: unknown): value is Record<PropertyKey, unknown> => typeof value === 'object' && value !== null
