import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { exampleProgram } from '@rapport/openapi-check/example-program.ts'
import { generateTypeScript } from '@rapport/openapi-check/generate.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { anId, startTestApi } from './testing.ts'

const run = promisify(execFile)
const tsc = resolve(import.meta.dirname, '../../../node_modules/.bin/tsc')

const api = useForFile(() => startTestApi())
const folder = useForFile(async () => {
  const path = await mkdtemp(join(tmpdir(), 'rapport-clients-'))
  return { path, close: () => rm(path, { recursive: true }) }
})

beforeAll(async () => {
  const { body } = await api.call<object>('GET', '/openapi.json')
  await generateTypeScript(body, folder.path)
  await writeFile(join(folder.path, 'package.json'), JSON.stringify({ type: 'module' }))
  await writeFile(join(folder.path, 'example.ts'), exampleProgram)
})

/** Returns the errors of the compiler. */
async function compile(name: string, files: string[], options: object): Promise<string> {
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable'],
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [resolve(import.meta.dirname, '../../../node_modules/@types')],
    ...options,
  }
  const project = join(folder.path, `${name}.json`)
  await writeFile(project, JSON.stringify({ compilerOptions, files }))
  const failed = (error: { stdout: string }) => error
  return (await run(tsc, ['-p', project], { cwd: folder.path }).catch(failed)).stdout
}

test('the generated types and client compile under strict', async () => {
  // The runtime of hey-api itself does not compile with exactOptionalPropertyTypes.
  expect(await compile('client', ['client/index.ts', 'example.ts'], {})).toBe('')
  expect(await compile('types', ['schema.ts', 'client/types.gen.ts'], { exactOptionalPropertyTypes: true })).toBe('')
})

test('the generated client creates, lists and deletes, and its errors are typed', async () => {
  const { url } = await api.listen()
  const { stdout } = await run(process.execPath, [join(folder.path, 'example.ts'), url])
  const shown = JSON.parse(stdout) as { id: string }
  expect(shown).toEqual({
    location: `/contacts/${shown.id}`,
    id: anId('con'),
    listed: ['grace@example.com'],
    nextCursor: null,
    missing: 'Contact not found',
    invalid: ['email'],
  })
})
