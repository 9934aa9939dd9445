/** What tools return: only what they declare, and nothing that opens a door. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { callTool, prepareTools } from '../../test/mcp.ts'
import { readEverything } from '../../test/isolation-workspace.ts'
import { startTestApi } from '../../test/testing.ts'
import { defineTool, reads } from './tool.ts'
import { tools } from './tools.ts'

const api = useForFile(() => startTestApi())
const secretName = /secret|password|token|hash|sealed|encrypted|private/i

/** The names and values of all properties of a JSON document. */
function* entriesOf(node: unknown): Generator<[string, unknown]> {
  if (typeof node !== 'object' || node === null) return
  for (const [name, value] of Object.entries(node)) {
    yield [name, value]
    yield* entriesOf(value)
  }
}

test('no tool declares a result that is a secret, but the token of a report', () => {
  const names = tools.flatMap(({ name, output }) => {
    const schema = z.toJSONSchema(output, { io: 'output', unrepresentable: 'any' })
    const declared = [...entriesOf(schema)].flatMap(([key, value]) =>
      key === 'properties' ? Object.keys(value as object) : [],
    )
    return declared.filter((one) => secretName.test(one)).map((one) => `${name} ${one}`)
  })
  expect([...new Set(names)]).toEqual(['send_campaign confirmationToken'])
})

test('no result of a tool contains a credential or a stored secret', async () => {
  const { workspace, args } = await prepareTools(api)
  const credentials = [workspace.key, workspace.token, await api.issueKey(workspace.token, 'VIEWER')]
  const texts: string[] = []
  for (const { name } of tools) {
    const { isError, value } = await callTool(api, workspace.key, { name, args: args[name] ?? {} })
    expect([name, isError]).toEqual([name, false])
    texts.push(JSON.stringify(value))
  }
  const stored = [...entriesOf(await readEverything(api, workspace.id))].flatMap(([name, value]) =>
    secretName.test(name) && typeof value === 'string' ? [value] : [],
  )
  expect(stored.length).toBeGreaterThan(10)
  const all = texts.join('\n')
  expect([...credentials, ...stored].filter((secret) => all.includes(secret))).toEqual([])
  expect(all).not.toMatch(/\b(?:rpk|rps|whsec)_|PRIVATE KEY/)
})

test('a tool returns nothing that it does not declare', async () => {
  const { id } = await api.signUp()
  const tool = defineTool({
    name: 'leak',
    operations: [],
    title: 'Leak',
    description: 'Returns more than it declares.',
    role: 'VIEWER',
    annotations: reads,
    input: z.strictObject({}),
    output: z.object({ record: z.object({ name: z.string() }) }),
    run: async () => Object.assign({ record: Object.assign({ name: 'a' }, { secret: 'b' }) }, { token: 'c' }),
  })
  expect(await tool.run(api.ctx(id), {})).toEqual({ record: { name: 'a' } })
})
