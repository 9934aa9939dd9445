/**
 * The tests of a change, for `pnpm test:changed`: those that import a changed file, directly or through other sources,
 * those beside such a source that have its name, and all conventions.
 *
 * Vitest's own `--changed` also follows the imports of `app.ts` and of test fixtures, which import nearly everything, so
 * that it selects nearly all tests. Here these are boundaries.
 */
import { basename, dirname } from 'node:path'
import { importsOf, isTestHelper, resolveImport, type SourceFile, sourceFiles } from './conventions/source-files.ts'

/** Files that put everything together. A change of one itself affects what imports it. */
const compositionRoots = /\/(app|main|worker|jobs|commands|documented-routes|routes\/index|db\/schema\/index)\.ts$/
const isBoundary = ({ path, isTest }: SourceFile) => isTest || isTestHelper(path) || compositionRoots.test(`/${path}`)

/** Returns the paths of the tests of these changed files, relative to the root. */
export function findTestsOf(changed: readonly string[]): string[] {
  const importers = new Map<string, SourceFile[]>()
  for (const file of sourceFiles) {
    for (const name of importsOf(file)) {
      const imported = resolveImport(file.path, name)
      if (imported) importers.set(imported, [...(importers.get(imported) ?? []), file])
    }
  }
  const reached = new Set(changed)
  const boundaries = new Set<string>()
  // Paths that are added during the loop are visited too.
  for (const path of reached) {
    if (boundaries.has(path)) continue
    for (const importer of importers.get(path) ?? []) {
      if (isBoundary(importer) && !reached.has(importer.path)) boundaries.add(importer.path)
      reached.add(importer.path)
    }
  }
  const sources = [...reached].filter((path) => !boundaries.has(path))
  const names = new Set(sources.map((path) => path.replace(/\.ts$/, '')))
  const isBeside = (path: string) => names.has(`${dirname(path)}/${basename(path).replace(/\..*/, '')}`)
  return sourceFiles
    .filter(({ path, isTest }) => isTest && (reached.has(path) || isBeside(path) || path.includes('/conventions/')))
    .map(({ path }) => path)
}
