import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { checkPackage, Package } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { build } from 'tsdown'
import { afterAll, beforeAll, expect, test } from 'vitest'

const sdk = resolve(import.meta.dirname, '..')
const maxSizeBytes = 15 * 1_024

interface Manifest {
  name: string
  version: string
  dependencies?: object
  exports: object
  publishConfig: { exports: object }
}

/** The package as `pnpm pack` writes it. */
let folder: string
let manifest: Manifest
let code: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-sdk-'))
  const { publishConfig, ...rest } = JSON.parse(await readFile(join(sdk, 'package.json'), 'utf8')) as Manifest
  manifest = { ...rest, publishConfig, exports: publishConfig.exports }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await build({ cwd: sdk, outDir: join(folder, 'dist'), logLevel: 'silent' })
  code = await readFile(join(folder, 'dist/index.js'), 'utf8')
})
afterAll(() => rm(folder, { recursive: true }))

test('publint finds no problem in the package', async () => {
  const { messages } = await publint({ pkgDir: folder, pack: false, strict: true })
  expect(messages).toEqual([])
})

test('an import resolves to the code and its declarations in Node and in bundlers', async () => {
  const paths = ['package.json', 'dist/index.js', 'dist/index.d.ts']
  const files = await Promise.all(
    paths.map(async (path) => {
      const text = await readFile(join(folder, path), 'utf8')
      return [`/node_modules/${manifest.name}/${path}`, text] as const
    }),
  )
  const analysis = await checkPackage(new Package(Object.fromEntries(files), manifest.name, manifest.version))
  // Not for CommonJS, which imports it with `await import()`.
  const problems = 'problems' in analysis ? analysis.problems : undefined
  expect(
    problems?.filter(
      (problem) => !['node10', 'node16-cjs'].includes('resolutionKind' in problem ? problem.resolutionKind : ''),
    ),
  ).toEqual([])
})

test('the package has no dependencies, and less than 15 KB of compressed code', () => {
  expect(manifest.dependencies).toBeUndefined()
  expect(code).not.toMatch(/(?:^|[;}])import\b|\brequire\(/)
  expect(gzipSync(code).length).toBeLessThan(maxSizeBytes)
})
