/** The endpoint of agents. `src/mcp/` has the tests of its tools. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { callMethod, callTool } from '../mcp.ts'
import { expectError, startTestApi } from '../testing.ts'

const api = useForFile(() => startTestApi())

test('POST /mcp: the tools of the role, results, errors, and 401 without a key', async () => {
  const { key, token } = await api.signUp()
  const viewer = await api.issueKey(token, 'VIEWER')
  const listed = await callMethod(api, viewer, { method: 'tools/list' })
  expect(JSON.stringify(listed.body.result)).not.toContain('"readOnlyHint":false')
  const created = await callTool(api, key, { name: 'upsert_contact', args: { email: 'ada@example.com' } })
  expect(created).toMatchObject({ isError: false, value: { isNew: true, contact: { email: 'ada@example.com' } } })
  const refused = await callTool(api, viewer, { name: 'upsert_contact', args: { email: 'ada@example.com' } })
  expect(refused).toMatchObject({ isError: true, value: { code: 'forbidden' } })
  expectError(await callMethod(api, '', { method: 'tools/list' }), 401)
})
