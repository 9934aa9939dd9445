/**
 * The tests of a change, for `pnpm test:changed`: the nearest fast ones of those that import a changed file, directly or
 * through other sources, or are beside such a source and have its name, and all conventions. Imports of types only do
 * not count, as the compiler checks what they affect.
 *
 * Vitest's own `--changed` also follows the imports of `app.ts`, of operations and of test fixtures, which import nearly
 * everything, so that it selects nearly all tests. Here these are boundaries.
 */
import { basename, dirname } from 'node:path'
import {
  importsOf,
  isTestHelper,
  resolveImport,
  type SourceFile,
  sourceFiles,
  withoutTypeImports,
} from './conventions/source-files.ts'

/** The environment variable with the changed files, to which the linter is then limited. */
export const changedFilesVariable = 'RAPPORT_CHANGED_FILES'

/** As many as take less than a minute on two processors. */
const maxNearest = 30
const tests = sourceFiles.filter(({ isTest }) => isTest)

/** Files that put everything together. A change of one itself affects what imports it. */
const compositionRoots = /\/(app|main|worker|jobs|commands|documented-routes|routes\/index|db\/schema\/index)\.ts$/
/** Operations combine slices: their own tests are selected, but not those of what uses them. */
const operations = 'packages/core/src/operations/'
const isBoundary = ({ path, isTest }: SourceFile) =>
  isTest || isTestHelper(path) || path.startsWith(operations) || compositionRoots.test(`/${path}`)

/** Returns the paths of the tests of these changed files, relative to the root, in the order of their distance. */
export function findTestsOf(changed: readonly string[]) {
  const importers = findImporters()
  // In the order of their distance. Paths that are added during the loop are visited too.
  const reached = new Set(changed)
  const boundaries = new Set<string>()
  for (const path of reached) {
    if (boundaries.has(path)) continue
    for (const importer of importers.get(path) ?? []) {
      if (isBoundary(importer) && !reached.has(importer.path)) boundaries.add(importer.path)
      reached.add(importer.path)
    }
  }
  const beside = Map.groupBy(tests, ({ path }) => `${dirname(path)}/${basename(path).replace(/\..*/, '')}.ts`)
  const testsOf = (path: string) => {
    if (tests.some((test) => test.path === path)) return [path]
    const isSource = !boundaries.has(path) || path.startsWith(operations)
    return isSource ? (beside.get(path) ?? []).map((test) => test.path) : []
  }
  const found = [...new Set([...reached].flatMap(testsOf))].filter((path) => !isConvention(path))
  const nearest = found.filter((path) => !path.endsWith('.slow.test.ts')).slice(0, maxNearest)
  return {
    nearest,
    others: found.filter((path) => !nearest.includes(path)),
    conventions: tests.map(({ path }) => path).filter(isConvention),
  }
}

const isConvention = (path: string) => path.includes('/conventions/')

/** Returns the files that import each file at run time. */
function findImporters(): Map<string, SourceFile[]> {
  const importers = new Map<string, SourceFile[]>()
  for (const file of sourceFiles) {
    for (const name of importsOf({ code: withoutTypeImports(file.code) })) {
      const imported = resolveImport(file.path, name)
      if (imported) importers.set(imported, [...(importers.get(imported) ?? []), file])
    }
  }
  return importers
}
