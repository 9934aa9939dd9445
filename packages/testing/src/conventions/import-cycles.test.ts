/** Includes type-only imports, which the linter rule `import/no-cycle` ignores. */
import { expect, test } from 'vitest'
import { importsOf, resolveImport, sourceFiles } from './source-files.ts'

const imports = new Map(
  sourceFiles.map((file) => [file.path, importsOf(file).flatMap((name) => resolveImport(file.path, name) ?? [])]),
)

test('there are no import cycles, types included', () => {
  expect(imports.get('packages/core/src/request/context.ts')).toContain('packages/core/src/db/client.ts')
  expect(findCycles().map((cycle) => cycle.join(' → '))).toEqual([])
})

test('a cycle is reported as the path from a file back to itself', () => {
  expect(cycleThrough('a', new Map(Object.entries({ a: ['b'], b: ['c', 'd'], c: [], d: ['a'] })))).toEqual([
    'a',
    'b',
    'd',
    'a',
  ])
})

/** Returns the shortest cycle through each file, and a cycle of several files only once. */
function findCycles(): string[][] {
  const found = new Map<string, string[]>()
  for (const path of imports.keys()) {
    const cycle = cycleThrough(path, imports)
    if (cycle) found.set(cycle.slice(1).toSorted().join(), cycle)
  }
  return [...found.values()]
}

/** Returns the shortest path from a file back to itself, undefined if there is none. */
function cycleThrough(start: string, graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const seen = new Set<string>()
  const paths = [[start]]
  for (const path of paths) {
    for (const next of graph.get(path.at(-1) ?? '') ?? []) {
      if (next === start) return [...path, next]
      if (!seen.has(next)) paths.push([...path, next])
      seen.add(next)
    }
  }
  return undefined
}
