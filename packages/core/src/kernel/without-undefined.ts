/** Removes undefined properties: an optional field of a parsed Zod object may be undefined instead of absent. */
export function withoutUndefined<Value extends object>(
  value: Value,
): Partial<{ [Key in keyof Value]: Exclude<Value[Key], undefined> }> {
  return Object.fromEntries(Object.entries(value).filter(([, property]) => property !== undefined)) as never
}
