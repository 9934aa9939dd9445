/** Which packages, and which folders of core, may import which others. */
import { basename, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { core, coreSources, findImports, importsOf, resolveImport, sourceFiles } from './source-files.ts'

/** Packages for development, tests and benchmarks, which do not run in production. */
const developmentPackages = ['packages/testing', 'packages/embedded-postgres', 'apps/e2e', 'apps/bench', 'apps/local']

test('an app imports no other app', () => {
  const isForeign = (path: string, home: string, name: string) => {
    const imported = resolveImport(path, name)
    return imported !== undefined && !imported.startsWith(`${home}/`) && !imported.startsWith('packages/')
  }
  expect(findImports(sourceFiles, ({ path, home }, name) => isForeign(path, home, name))).toEqual([])
})

test('imports of another package use its name, imports within a package are relative', () => {
  const isWrong = (home: string, path: string, name: string) =>
    name.startsWith('.')
      ? !resolveImport(path, name)?.startsWith(`${home}/`)
      : name.startsWith(`@rapport/${home.split('/')[1]}/`)
  expect(findImports(sourceFiles, ({ home, path }, name) => isWrong(home, path, name))).toEqual([])
})

test('production code imports neither test fixtures nor the embedded PostgreSQL', () => {
  const production = sourceFiles.filter(
    ({ home, path, isTest }) => !isTest && !developmentPackages.includes(home) && !/\/test\/|\/testing[.-]/.test(path),
  )
  expect(findImports(production, (_file, name) => /^@rapport\/(testing|embedded-postgres)\//.test(name))).toEqual([])
})

test('the SDK, which is published, imports no other package of the repository', () => {
  const sdk = sourceFiles.filter(({ path }) => path.startsWith('packages/sdk/src/'))
  expect(sdk).not.toEqual([])
  expect(findImports(sdk, (_file, name) => name.startsWith('@rapport/'))).toEqual([])
})

test('an example imports only the SDK of this repository', () => {
  const examples = sourceFiles.filter(({ home }) => home.startsWith('examples/'))
  expect(examples.length).toBeGreaterThan(0)
  expect(findImports(examples, (_file, name) => name.startsWith('@rapport/') && name !== '@rapport/sdk')).toEqual([])
})

/** Each slice has a schema file; `db/schema/index.ts` exports these files in the order of their dependencies. */
const schemaFiles = importsOf(coreSources.find(({ path }) => path === `${core}db/schema/index.ts`) ?? { code: '' }).map(
  (name) => basename(name, '.ts'),
)
const notSlices = ['work', 'idempotency', 'events']
const slices = schemaFiles.filter((name) => !notSlices.includes(name))
// No slice, because it has no table.
const slicesAndRendering = slices.toSpliced(slices.indexOf('campaigns'), 0, 'rendering')
/** Folders of core in the order of their dependencies: a folder may import only itself and earlier folders. */
const layers = ['kernel', 'runtime', 'db', 'request', 'work', 'events', 'quotas', ...slicesAndRendering, 'operations']
const layerOf = (path: string) => layers.indexOf(path.slice(core.length).split('/')[0] ?? '')

test('every folder of core has a place in the order', () => {
  expect(coreSources.filter(({ path }) => layerOf(path) < 0).map(({ path }) => path)).toEqual([])
})

test('a folder of core imports only earlier folders, types included', () => {
  const upward = coreSources.flatMap((file) =>
    importsOf(file)
      .map((name) => resolveImport(file.path, name))
      .filter((imported) => imported?.startsWith(core) && layerOf(imported) > layerOf(file.path))
      .map((imported) => `${file.path} imports ${imported}`),
  )
  expect(upward).toEqual([])
})

test('operations has folders only, so that its names say what belongs together', () => {
  expect(coreSources.filter(({ path }) => dirname(path) === `${core}operations`).map(({ path }) => path)).toEqual([])
})

// What a reader takes in at a glance, about two dozen. A folder near it is looked at, not split for the number.
const largestFolder = 24
const largerFolders: Record<string, number> = { 'packages/core/src/db/schema': 34, 'apps/api/src/routes': 34 }

test('no folder exceeds its maximum number of source files', () => {
  const sources = sourceFiles.filter(({ isTest, home }) => !isTest && /^(packages|apps\/(api|worker|cli))/.test(home))
  const sizes = Map.groupBy(sources, ({ path }) => dirname(path))
  const tooLarge = [...sizes].filter(([folder, files]) => files.length > (largerFolders[folder] ?? largestFolder))
  expect(tooLarge.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([])
})
