/** A text of the code that keeps a promise, and what it becomes when it is removed. */
export interface Guard {
  /** What happens without it. */
  name: string
  /** Relative to the root of the repository. */
  file: string
  search: string
  replacement: string
}

/** Returns the source without the guard. Throws if the guard is no longer there. */
export function removeGuard(source: string, { name, file, search, replacement }: Guard): string {
  if (source.split(search).length !== 2)
    throw new Error(`Guard "${name}": the text must occur once in ${file}: ${search}`)
  return source.replace(search, () => replacement)
}
