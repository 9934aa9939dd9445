import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { checkPackage, Package } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type * as Sdk from '../src/index.ts'
import { buildPackage, type Manifest } from './build-package.ts'

const maxSizeBytes = 15 * 1_024

/** The package as `pnpm pack` writes it. */
let folder: string
let manifest: Manifest
let code: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-sdk-'))
  manifest = await buildPackage(folder)
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

test('the code needs nothing but globals of the web, so it runs outside Node too', async () => {
  const { AbortController, AbortSignal, atob, Blob, crypto, Headers, ReadableStream, Response } = globalThis
  const { clearTimeout, setTimeout, TextDecoder, TextDecoderStream, TextEncoder, URLSearchParams } = globalThis
  const streams = { Blob, ReadableStream, TextDecoder, TextDecoderStream, TextEncoder }
  const requests = { AbortController, AbortSignal, Headers, Response, URLSearchParams }
  const sent: [url: string, body: string][] = []
  const fetch = async (url: string, { body }: RequestInit) => {
    sent.push([url, await new Response(body ?? null).text()])
    if (url.endsWith('/export')) return new Response('{"email":"ada@example.com"}\n')
    return Response.json({ data: [{ id: 'con_1' }], nextCursor: url.includes('cursor') ? null : 'next' })
  }
  const webGlobals = { ...streams, ...requests, atob, clearTimeout, crypto, fetch, setTimeout }
  // A script, as modules need a flag.
  const script = code.replace(
    /export\s*\{([^}]*)\}/,
    (_match, names: string) => `;({${names.replace(/([\w$]+) as (\w+)/g, '$2:$1')}})`,
  )
  const { Rapport, parseNdjson } = runInNewContext(script, webGlobals) as typeof Sdk

  const rapport = new Rapport({ baseUrl: 'https://crm.example', apiKey: 'rpk_test' })
  await rapport.contacts.create({ email: 'ada@example.com' })
  for await (const { id } of rapport.contacts.list()) expect(id).toBe('con_1')
  for await (const contact of parseNdjson(await rapport.contacts.export()))
    expect(contact.email).toBe('ada@example.com')
  await rapport.imports.create({ contacts: [{ email: 'ada@example.com' }].values() })
  expect(sent).toEqual([
    ['https://crm.example/contacts', '{"email":"ada@example.com"}'],
    ['https://crm.example/contacts', ''],
    ['https://crm.example/contacts?cursor=next', ''],
    ['https://crm.example/contacts/export', ''],
    ['https://crm.example/contacts/import', '{"email":"ada@example.com"}\n'],
  ])
  const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1_000)) }
  const unwrapped = rapport.webhooks.unwrap('{}', { ...headers, 'webhook-signature': 'v1,AAAA' }, 'whsec_AAAA')
  await expect(unwrapped).rejects.toThrow('no signature matches')
})
