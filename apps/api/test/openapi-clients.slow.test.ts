import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { generateSdk } from '@rapport/sdk/generate.ts'
import { generateTypes } from '@rapport/sdk/test/generate-types.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { goEnvironment } from '@rapport/testing/processes/go-environment.ts'
import { beforeAll, expect, test } from 'vitest'
import { startTestApi } from './testing.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../..')

const api = useForFile(() => startTestApi())
const folder = useForFile(async () => {
  const path = await mkdtemp(join(tmpdir(), 'rapport-clients-'))
  return { path, close: () => rm(path, { recursive: true }) }
})
let document: Parameters<typeof generateSdk>[0]
beforeAll(async () => {
  document = (await api.call<typeof document>('GET', '/openapi.json')).body
})

test('the generated files of the SDK are current (`pnpm clients:generate`)', async () => {
  const generated = await generateSdk(document)
  expect(Object.keys(generated)).toEqual(['types.gen.ts', 'operations.gen.ts'])
  for (const [name, text] of Object.entries(generated)) {
    await expect(text).toMatchFileSnapshot(join(root, 'packages/sdk/src/generated', name))
  }
})

test('the types that openapi-typescript generates compile under strict', async () => {
  const compilerOptions = {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: [],
  }
  const project = join(folder.path, 'tsconfig.json')
  await writeFile(join(folder.path, 'schema.ts'), await generateTypes(document))
  await writeFile(project, JSON.stringify({ compilerOptions, files: ['schema.ts'] }))
  const options = { env: goEnvironment() }
  await expect(run(join(root, 'node_modules/.bin/tsc'), ['-p', project], options)).resolves.toMatchObject({
    stdout: '',
  })
})
