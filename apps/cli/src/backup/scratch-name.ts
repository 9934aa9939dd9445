/** PostgreSQL cuts longer names off. */
const maxBytes = 63

/** The name of a database beside another one: "rapport_unfinished_restore". */
export function scratchName(database: string, suffix: string): string {
  const bytes = Buffer.from(database).subarray(0, maxBytes - suffix.length)
  // Omits a character that was cut.
  return `${new TextDecoder().decode(bytes, { stream: true })}${suffix}`
}
