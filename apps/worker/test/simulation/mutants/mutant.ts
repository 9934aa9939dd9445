export interface Mutant {
  /** What is no longer guarded. */
  name: string
  /** Relative to the root of the repository. */
  file: string
  search: string
  replacement: string
  /** The scenario that reaches it. */
  scenario: 'mails' | 'campaign' | 'cancellation' | 'drain'
  /** A seed of the scenario that finds it. If it does not after a change, `pnpm simulate --mutants` shows another one. */
  seed?: number
}

/** Returns the source with the mutation. Throws if the guard is no longer there. */
export function mutate(source: string, { name, file, search, replacement }: Mutant): string {
  if (source.split(search).length !== 2)
    throw new Error(`Mutant "${name}": the text must occur once in ${file}: ${search}`)
  return source.replace(search, () => replacement)
}
