/** The floor plan: which package may import which, and which folder of core. */
import { basename, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { core, coreSources, findImports, importsOf, resolveImport, sourceFiles } from './source-files.ts'

/** Development only: tests may import them, and the packages that exist for tests and trials. */
const developmentPackages = ['packages/testing', 'packages/embedded-postgres', 'apps/e2e', 'apps/bench', 'apps/local']

test('an app imports its own files, core and libraries, and never another app', () => {
  const isForeign = (path: string, home: string, name: string) => {
    const imported = resolveImport(path, name)
    return imported !== undefined && !imported.startsWith(`${home}/`) && !imported.startsWith('packages/')
  }
  expect(findImports(sourceFiles, ({ path, home }, name) => isForeign(path, home, name))).toEqual([])
})

test('a package is imported by its name, and imports itself by its files', () => {
  const isWrong = (home: string, path: string, name: string) =>
    name.startsWith('.')
      ? !resolveImport(path, name)?.startsWith(`${home}/`)
      : name.startsWith(`@rapport/${home.split('/')[1]}/`)
  expect(findImports(sourceFiles, ({ home, path }, name) => isWrong(home, path, name))).toEqual([])
})

test('what runs in production imports neither the test fixtures nor the embedded PostgreSQL', () => {
  const production = sourceFiles.filter(
    ({ home, path, isTest }) => !isTest && !developmentPackages.includes(home) && !/\/test\/|\/testing[.-]/.test(path),
  )
  expect(findImports(production, (_file, name) => /^@rapport\/(testing|embedded-postgres)\//.test(name))).toEqual([])
})

/** The slices, from the ground up: each has a file of its tables, and `db/schema/index.ts` has these in the order of the slices. */
const schemaFiles = importsOf(coreSources.find(({ path }) => path === `${core}db/schema/index.ts`) ?? { code: '' }).map(
  (name) => basename(name, '.ts'),
)
const notSlices = ['jobs', 'idempotency', 'events']
const slices = schemaFiles.filter((name) => !notSlices.includes(name))
/** From the ground up: a folder imports those before it, and itself. */
const floors = ['kernel', 'runtime', 'db', 'request', 'jobs', 'events', ...slices, 'operations']
const floorOf = (path: string) => floors.indexOf(path.slice(core.length).split('/')[0] ?? '')

test('every file of core stands on a floor', () => {
  expect(coreSources.filter(({ path }) => floorOf(path) < 0).map(({ path }) => path)).toEqual([])
})

test('a folder of core imports only what stands below it, types included', () => {
  const upward = coreSources.flatMap((file) =>
    importsOf(file)
      .map((name) => resolveImport(file.path, name))
      .filter((imported) => imported?.startsWith(core) && floorOf(imported) > floorOf(file.path))
      .map((imported) => `${file.path} imports ${imported}`),
  )
  expect(upward).toEqual([])
})

const largestFolder = 16
const largerFolders: Record<string, number> = { 'packages/core/src/db/schema': 28, 'apps/api/src/routes': 28 }

test('no folder holds more sources than fit a page', () => {
  const sources = sourceFiles.filter(({ isTest, home }) => !isTest && /^(packages|apps\/(api|worker|cli))/.test(home))
  const sizes = Map.groupBy(sources, ({ path }) => dirname(path))
  const tooLarge = [...sizes].filter(([folder, files]) => files.length > (largerFolders[folder] ?? largestFolder))
  expect(tooLarge.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([])
})
