/** The command line of MCP Inspector, run as its users run it. */
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { startTestApi } from '../../test/testing.ts'
import { tools } from './tools.ts'

const timeout = 60_000
const inspector = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector-cli'))

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let url: string
beforeAll(async () => {
  url = (await api.listen()).url
})

async function inspect(...parameters: string[]): Promise<Record<string, unknown>> {
  const credential = ['--header', `Authorization: Bearer ${workspace.key}`]
  const all = [inspector, '--cli', `${url}/mcp`, '--transport', 'http', ...parameters, ...credential]
  // It looks for its own package.json relative to the working directory.
  const { stdout } = await promisify(execFile)(process.execPath, all, { cwd: dirname(inspector) })
  return JSON.parse(stdout) as Record<string, unknown>
}

test('tools/list shows every tool', { timeout }, async () => {
  const { tools: listed } = await inspect('--method', 'tools/list')
  expect(listed).toMatchObject(tools.map(({ name, annotations }) => ({ name, annotations })))
})

test('tools/call returns structured content, and the error of a failed tool', { timeout }, async () => {
  const call = ['--method', 'tools/call', '--tool-name', 'upsert_contact']
  const created = await inspect(...call, '--tool-arg', 'email=ada@example.com', 'tags=["vip"]')
  expect(created['structuredContent']).toMatchObject({ isNew: true, contact: { tags: ['vip'] } })
  const failed = await inspect(...call, '--tool-arg', 'email=ada')
  expect(failed).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('"path":"email"') as unknown }],
  })
})
