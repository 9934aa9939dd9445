/** The linter's `import/no-cycle` leaves out imports of types alone, which entangle files just as much. */
import { expect, test } from 'vitest'
import { importsOf, resolveImport, sourceFiles } from './source-files.ts'

const imports = new Map(
  sourceFiles.map((file) => [file.path, importsOf(file).flatMap((name) => resolveImport(file.path, name) ?? [])]),
)

test('no files import each other in a circle, types included', () => {
  expect(imports.get('packages/core/src/request/context.ts')).toContain('packages/core/src/db/client.ts')
  expect(findCycles().map((cycle) => cycle.join(' → '))).toEqual([])
})

test('a circle is found, and printed from its first file back to it', () => {
  expect(cycleThrough('a', new Map(Object.entries({ a: ['b'], b: ['c', 'd'], c: [], d: ['a'] })))).toEqual([
    'a',
    'b',
    'd',
    'a',
  ])
})

/** The shortest circle of each file that is in one, a circle of several files once. */
function findCycles(): string[][] {
  const found = new Map<string, string[]>()
  for (const path of imports.keys()) {
    const cycle = cycleThrough(path, imports)
    if (cycle) found.set(cycle.slice(1).toSorted().join(), cycle)
  }
  return [...found.values()]
}

/** The shortest way from a file back to itself, undefined if there is none. */
function cycleThrough(start: string, graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const seen = new Set<string>()
  const ways = [[start]]
  for (const way of ways) {
    for (const next of graph.get(way.at(-1) ?? '') ?? []) {
      if (next === start) return [...way, next]
      if (!seen.has(next)) ways.push([...way, next])
      seen.add(next)
    }
  }
  return undefined
}
