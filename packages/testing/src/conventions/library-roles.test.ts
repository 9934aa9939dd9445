/** Each library of the stack is used in its role, and nowhere else. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { importsOf, sourceFiles } from './source-files.ts'

const root = resolve(import.meta.dirname, '../../../..')

/** `in`: at least one of these files imports the library. `only`: no others may, except tests, benchmarks, examples. */
const roles: Record<string, { in: RegExp; only?: RegExp }> = {
  fastify: { in: /^apps\/api\/src\/app\.ts$/, only: /^apps\/api\// },
  'fastify-plugin': { in: /^apps\/api\/src\/http\//, only: /^apps\/api\// },
  '@fastify/rate-limit': { in: /^apps\/api\/src\/http\//, only: /^apps\/api\/src\/http\// },
  '@fastify/sensible': { in: /^apps\/api\/src\//, only: /^apps\/api\// },
  zod: { in: /^packages\/core\/src\/contacts\/contacts\.schema\.ts$/ },
  'fastify-type-provider-zod': { in: /^apps\/api\/src\//, only: /^apps\/api\// },
  'drizzle-orm': { in: /^packages\/core\/src\/db\//, only: /^packages\/core\// },
  pg: { in: /^packages\/core\/src\/db\// },
  bullmq: { in: /^apps\/worker\/src\/queues\/queue-backend\.ts$/, only: /^apps\/(worker|api)\/src\/queues\// },
  ioredis: { in: /^packages\/core\/src\/runtime\/redis\.ts$/ },
  undici: {
    in: /^apps\/worker\/src\/webhook-delivery\//,
    only: /^apps\/(worker\/|api\/src\/http\/read-public-url\.ts$)/,
  },
}

const importers = (library: string) =>
  sourceFiles.filter((file) => importsOf(file).some((name) => name === library || name.startsWith(`${library}/`)))

test.each(Object.entries(roles))('%s is used in its role', (library, role) => {
  const paths = importers(library)
    .filter(({ isTest }) => !isTest)
    .map(({ path }) => path)
  expect(paths.filter((path) => role.in.test(path))).not.toEqual([])
  const production = paths.filter((path) => !/^(packages\/testing|apps\/(e2e|bench)|examples)\//.test(path))
  expect(production.filter((path) => role.only && !role.only.test(path))).toEqual([])
})

/**
 * Dependencies that need no import: the peers of BullMQ's two backends and of the OpenAPI generators, vitest, the
 * renderer that Next.js loads, programs that tests run, and the types of the manifests that a test renders.
 */
const neededWithoutImport = [
  'ioredis',
  'pg',
  'typescript',
  'vitest',
  'react-dom',
  '@modelcontextprotocol/inspector-cli',
  'dclint',
  '@kubernetes-models/keda',
  '@kubernetes-models/prometheus-operator',
  'kubernetes-models',
]

test('a package imports every dependency that it declares', () => {
  const unused = globSync('{apps,packages,examples}/*/package.json', { cwd: root }).flatMap((path) => {
    const declared = JSON.parse(readFileSync(resolve(root, path), 'utf8')) as Record<string, object | undefined>
    const names = [...Object.keys(declared['dependencies'] ?? {}), ...Object.keys(declared['devDependencies'] ?? {})]
    const imported = sourceFiles.filter(({ home }) => path.startsWith(`${home}/`)).flatMap(importsOf)
    const isImported = (name: string) => imported.some((one) => one === name || one.startsWith(`${name}/`))
    return names
      .filter((name) => !name.startsWith('@types/') && !neededWithoutImport.includes(name) && !isImported(name))
      .map((name) => `${path}: ${name}`)
  })
  expect(unused).toEqual([])
})

test('tests import vitest, and both of its configuration files exist', () => {
  expect(importers('vitest').length).toBeGreaterThan(100)
  expect(['vitest.workspace.ts', 'vitest.config.ts'].filter((name) => !existsSync(resolve(root, name)))).toEqual([])
})

test('the root folder has only the expected folders', () => {
  const folders = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
    .map(({ name }) => name)
  expect(folders.toSorted()).toEqual(['apps', 'bin', 'docs', 'drizzle', 'examples', 'ops', 'packages'])
})
