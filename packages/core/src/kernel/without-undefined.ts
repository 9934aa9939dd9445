/** The properties that have a value: what a change names, as Zod gives it. */
export function withoutUndefined<Value extends object>(
  value: Value,
): Partial<{ [Key in keyof Value]: Exclude<Value[Key], undefined> }> {
  return Object.fromEntries(Object.entries(value).filter(([, property]) => property !== undefined)) as never
}
