import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import { parseCommandLine } from '../command-line.ts'
import { commands } from '../commands.ts'
import { startInProcess } from '../testing.ts'

const api = useForFile(startHttpReceiver)
const folder = useForFile(() => {
  const path = mkdtempSync(join(tmpdir(), 'rapport-fields-'))
  return { path, close: () => rmSync(path, { recursive: true }) }
})
const header = 'uuid,email,name,attributes,status,created_at,updated_at\n'
const row = (name: string, attributes: object) =>
  `1,${name}@example.com,${name},"${JSON.stringify(attributes).replaceAll('"', '""')}",enabled,x,x\n`

/** Runs an import of listmonk where the workspace has the custom field `city` alone. */
async function run(file: string, ...options: string[]) {
  const path = join(folder.path, 'subscribers.csv')
  writeFileSync(path, file)
  const before = api.requests.length
  api.respondWith(({ method }) => ({
    status: method === 'GET' ? 200 : 422,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(method === 'GET' ? { data: [{ key: 'city', label: 'City' }], nextCursor: null } : {}),
  }))
  const words = ['import', '--from', 'listmonk', '--api', api.url, '--key', 'rpk_test', ...options, path]
  const parsed = await parseCommandLine(commands, words)
  if ('print' in parsed) throw new Error(parsed.print)
  const error = await startInProcess(parsed.command, parsed.options).code.catch((thrown: unknown) => thrown)
  const posts = api.requests.slice(before).filter(({ method }) => method === 'POST')
  return { error: error as Error, posts }
}

test('all attributes without a custom field are named before a row is uploaded', async () => {
  const rows = [
    row('ada', { city: 'London', shoe: 38 }),
    row('zoe', { vip: true, phone: 'x' }),
    row('kay', { shoe: null }),
  ]
  const { error, posts } = await run(header + rows.join(''))
  expect(error).toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/^no custom field for "shoe", "vip", "phone": --create-fields/),
  })
  expect(posts).toEqual([])
})

test('--create-fields creates each with the type of its values', async () => {
  for (const [attributes, type] of [
    [[{ 'Shoe size (EU)': 38 }, { 'Shoe size (EU)': null }], 'NUMBER'],
    [[{ 'Shoe size (EU)': true }], 'BOOLEAN'],
    [[{ 'Shoe size (EU)': 38 }, { 'Shoe size (EU)': 'large' }], 'TEXT'],
  ] as const) {
    const { posts } = await run(header + attributes.map((one) => row('ada', one)).join(''), '--create-fields')
    expect(posts.map(({ url, body }): [string, unknown] => [url, JSON.parse(String(body))])).toEqual([
      ['/custom-fields', { key: 'Shoe_size_EU', label: 'Shoe size (EU)', type }],
    ])
  }
})

test('--create-fields reads the attributes of a copy of the table', async () => {
  const { posts } = await run(header.replace('attributes', 'attribs') + row('ada', { shoe: 38 }), '--create-fields')
  expect(posts.map(({ body }): unknown => JSON.parse(String(body)))).toEqual([
    { key: 'shoe', label: 'shoe', type: 'NUMBER' },
  ])
})

test('a file without other columns and attributes needs no custom fields', async () => {
  const { posts } = await run(header + row('ada', {}))
  expect(posts.map(({ url }) => url.split('?')[0])).toEqual(['/contacts/import'])
})
