/** The promises that hold for every tool: roles, annotations, isolation and descriptions. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { fillWorkspace, type Ids, unknownIds } from '../../test/isolation-cases.ts'
import { eveEmail, mcpToolCases } from '../../test/isolation-mcp.ts'
import { readEverything } from '../../test/isolation-workspace.ts'
import { callMethod, callTool, prepareTools } from '../../test/mcp.ts'
import { freshEmail, type Json, startTestApi, type TestWorkspace } from '../../test/testing.ts'
import type { Annotations } from './tool.ts'
import { tools } from './tools.ts'

const api = useForFile(() => startTestApi())
const names = tools.map(({ name }) => name)

async function listTools(key: string) {
  const { body } = await callMethod(api, key, { method: 'tools/list' })
  return (body.result as { tools: { name: string; description: string; inputSchema: Schema }[] }).tools
}

interface Schema {
  $schema?: string
  type?: string
  description?: string
  additionalProperties?: unknown
  properties?: Record<string, Schema>
}

test('no tool deletes, exports, or manages keys, members or webhooks', () => {
  expect(names).toHaveLength(37)
  expect(names.filter((name) => /delete|remove|export|import|key|member|invite|webhook|merge/.test(name))).toEqual([])
})

test('the list of tools takes less than 40,000 bytes of a context', async () => {
  const { key } = await api.signUp()
  const { text } = await callMethod(api, key, { method: 'tools/list' })
  expect(Buffer.byteLength(text)).toBeLessThan(40_000)
})

test('every tool and argument has a description, and unknown arguments are errors', async () => {
  const { key } = await api.signUp()
  for (const { name, description, inputSchema } of await listTools(key)) {
    expect([name, description]).toEqual([name, expect.stringMatching(/^[A-Z].+\.$/)])
    const { type, additionalProperties, $schema } = inputSchema
    expect([name, type, additionalProperties, $schema]).toEqual([name, 'object', false, undefined])
    for (const [argument, schema] of Object.entries(inputSchema.properties ?? {}))
      expect([name, argument, schema.description]).toEqual([name, argument, expect.stringMatching(/^[A-Z0-9`].+\.$/)])
    const { isError, value } = await callTool(api, key, { name, args: { nonsense: 1 } })
    expect([name, isError, value['issues']]).toEqual([
      name,
      true,
      expect.arrayContaining([{ path: 'nonsense', message: 'unknown field' }]),
    ])
  }
})

describe('roles', () => {
  test('a key lists the tools that its role may call, and no others can be called', async () => {
    const { workspace, args } = await prepareTools(api)
    for (const role of ['VIEWER', 'MEMBER', 'ADMIN'] as const) {
      const key = await api.issueKey(workspace.token, role)
      const listed = (await listTools(key)).map(({ name }) => name)
      const isListed = { VIEWER: isForReading, MEMBER: isForMembers, ADMIN: () => true }[role]
      expect(listed).toEqual(names.filter(isListed))
      for (const name of names.filter((one) => !listed.includes(one))) {
        const { isError, value } = await callTool(api, key, { name, args: args[name] ?? {} })
        expect([name, isError, value]).toEqual([
          name,
          true,
          { code: 'forbidden', message: `This request requires the role ${isForMembers(name) ? 'MEMBER' : 'ADMIN'}` },
        ])
      }
    }
  })

  const readingTools = [
    'search_contacts',
    'get_contact',
    'search_companies',
    'get_company',
    'list_notes',
    'list_lists',
    'list_segments',
    'preview_segment',
    'list_campaigns',
    'list_template_variables',
    'campaign_report',
    'list_templates',
    'get_email',
    'list_pipelines',
    'list_deals',
    'list_suppressions',
    'list_domains',
  ]
  const isForReading = (name: string) => readingTools.includes(name)
  const isForMembers = (name: string) => !['undo_opt_out', 'lift_suppression', 'verify_domain'].includes(name)

  test('a search for the suppression of an address needs the role MEMBER', async () => {
    const { token } = await api.signUp()
    const call = { name: 'list_suppressions', args: { email: freshEmail() } }
    const { value } = await callTool(api, await api.issueKey(token, 'VIEWER'), call)
    expect(value).toEqual({ code: 'forbidden', message: 'This request requires the role MEMBER' })
    expect((await callTool(api, await api.issueKey(token, 'MEMBER'), call)).isError).toBe(false)
  })

  test('a tool requires the role of the operation that does the same', async () => {
    const { body } = await api.call<{ paths: Record<string, Record<string, Json>> }>('GET', '/openapi.json')
    const operations = Object.values(body.paths).flatMap((methods) => Object.values(methods))
    const roles = new Map(operations.map((operation) => [operation['operationId'], operation['x-required-role']]))
    const same: Record<string, string> = {
      search_contacts: 'contacts.list',
      get_contact: 'contacts.get',
      upsert_contact: 'contacts.upsert',
      tag_contacts: 'contacts.addTags',
      search_companies: 'companies.list',
      get_company: 'companies.get',
      upsert_company: 'companies.upsert',
      opt_out_contact: 'contacts.optOut',
      undo_opt_out: 'contacts.undoOptOut',
      deny_tracking: 'contacts.setTrackingConsent',
      list_suppressions: 'suppressions.list',
      suppress_address: 'suppressions.create',
      lift_suppression: 'suppressions.delete',
      create_task: 'tasks.create',
      list_notes: 'notes.list',
      create_note: 'notes.create',
      list_lists: 'lists.list',
      create_list: 'lists.create',
      add_subscriber: 'lists.addSubscriber',
      list_segments: 'segments.list',
      preview_segment: 'segments.preview',
      list_campaigns: 'campaigns.list',
      list_template_variables: 'templateVariables.list',
      draft_campaign: 'campaigns.create',
      preview_campaign: 'campaigns.preview',
      campaign_report: 'campaigns.getStats',
      pause_campaign: 'campaigns.pause',
      cancel_campaign: 'campaigns.cancel',
      list_templates: 'templates.list',
      get_email: 'emails.get',
      list_domains: 'domains.list',
      verify_domain: 'domains.verify',
      send_test: 'campaigns.sendTest',
      send_campaign: 'campaigns.send',
      list_pipelines: 'pipelines.list',
      list_deals: 'deals.list',
      move_deal: 'deals.update',
    }
    expect(tools.map(({ name, role }) => [name, role])).toEqual(
      names.map((name) => [name, roles.get(same[name] ?? '')]),
    )
  })
})

describe('annotations', () => {
  test('a tool is read-only if all that it does is to read', async () => {
    const { body } = await api.call<{ paths: Record<string, Record<string, Json>> }>('GET', '/openapi.json')
    const reading = new Set<unknown>(['campaigns.preview', 'segments.preview'])
    for (const { get } of Object.values(body.paths)) if (get) reading.add(get['operationId'])
    expect(tools.map(({ name, annotations }) => [name, annotations.readOnlyHint])).toEqual(
      tools.map(({ name, operations }) => [name, operations.every((one) => reading.has(one))]),
    )
  })

  test('a read-only tool changes no row', async () => {
    const { workspace, args } = await prepareTools(api)
    const before = await readEverything(api, workspace.id)
    for (const { name, annotations } of tools) {
      if (!annotations.readOnlyHint) continue
      const result = await callTool(api, workspace.key, { name, args: args[name] ?? {} })
      expect([name, result.isError]).toEqual([name, false])
      expect([name, await readEverything(api, workspace.id)]).toEqual([name, before])
    }
  })

  test.each(changingTools(({ idempotentHint }) => idempotentHint))(
    'a repeated call of %s changes nothing and emits no event',
    async (name) => {
      const { before, first, second } = await callTwice(name)
      expect(first).not.toEqual(before)
      expect(second).toEqual(first)
    },
  )

  // A campaign is sent only once, and a contact is asked once in ten minutes.
  const repeatable = (name: string) => !['send_campaign', 'add_subscriber'].includes(name)
  test.each(changingTools(({ idempotentHint }) => !idempotentHint).filter(repeatable))(
    'a repeated call of %s does the same again',
    async (name) => {
      const { before, first, second } = await callTwice(name)
      expect(first).not.toEqual(before)
      expect(second).not.toEqual(first)
    },
  )

  test('a tool that is not destructive changes no existing record', async () => {
    for (const { name, annotations } of tools) {
      if (annotations.readOnlyHint || annotations.destructiveHint) continue
      const { before, first } = await callTwice(name)
      for (const [table, rows] of Object.entries(before))
        expect([name, table, withoutTimes(first[table])]).toEqual([
          name,
          table,
          expect.arrayContaining(withoutTimes(rows)),
        ])
    }
  })

  test('only tools that send email or read DNS reach the world outside', () => {
    const open = tools.filter(({ annotations }) => annotations.openWorldHint).map(({ name }) => name)
    expect(open).toEqual(['add_subscriber', 'verify_domain', 'send_test', 'send_campaign'])
  })

  function changingTools(matches: (annotations: Annotations) => boolean): string[] {
    return tools.filter((tool) => !tool.annotations.readOnlyHint && matches(tool.annotations)).map(({ name }) => name)
  }

  const calls = new Map<string, ReturnType<typeof readAroundCalls>>()
  /** Each tool is called by the first test that asks. */
  function callTwice(name: string) {
    const called = calls.get(name) ?? readAroundCalls(name)
    calls.set(name, called)
    return called
  }

  /** Reads all rows of a workspace before and after each of two calls. */
  async function readAroundCalls(name: string) {
    const { workspace, args } = await prepareTools(api)
    const read = () => readEverything(api, workspace.id)
    const call = () => callTool(api, workspace.key, { name, args: args[name] ?? {} })
    const before = await read()
    await call()
    const first = await read()
    await call()
    return { before, first, second: await read() }
  }

  /** A new record of a contact moves these times. */
  const withoutTimes = (rows: unknown) =>
    (rows as Json[]).map((row) => ({ ...row, last_activity_at: null, updated_at: null }))
})

describe('isolation', () => {
  let [ada, eve]: TestWorkspace[] = []
  let [adaIds, eveIds]: [Ids, Ids] = [unknownIds, unknownIds]
  beforeAll(async () => {
    ;[ada, eve] = [await api.signUp(), await api.signUp(eveEmail)]
    ;[adaIds, eveIds] = [await fillWorkspace(api, ada), await fillWorkspace(api, eve)]
  })

  test('every tool that takes an id has isolation cases', () => {
    expect(Object.keys(mcpToolCases).toSorted()).toEqual(names.toSorted())
    for (const { name, definition } of tools) {
      const properties = Object.keys(definition.inputSchema.properties ?? {})
      const cases = mcpToolCases[name as keyof typeof mcpToolCases]
      const covered = cases.flatMap((make) => Object.keys(make(unknownIds, unknownIds).body.params.arguments))
      expect([name, properties.filter((one) => /(?<!external)Ids?$/.test(one) && !covered.includes(one))]).toEqual([
        name,
        [],
      ])
    }
  })

  test('a record of another workspace is not found, or the page is empty', async () => {
    const before = await readEverything(api, ada?.id)
    for (const make of Object.values(mcpToolCases).flat()) {
      const { params } = make(adaIds, eveIds).body
      const call = { name: params.name, args: params.arguments }
      const { isError, value } = await callTool(api, eve?.key ?? '', call)
      const said = isError ? String(value['message']) : `page ${JSON.stringify(value)}`
      expect(`${JSON.stringify(call)}: ${said}`).toMatch(
        /: (.*not found( in this pipeline)?$|email: is required$|page \{"data":\[\],"nextCursor":null\}$|confirmationToken)/,
      )
    }
    expect(await readEverything(api, ada?.id)).toEqual(before)
  })

  test('a cursor of another workspace is invalid', async () => {
    const [{ value }, { value: foreign }] = [
      await callTool(api, eve?.key ?? '', { name: 'search_contacts', args: { limit: 1 } }),
      await callTool(api, ada?.key ?? '', { name: 'search_contacts', args: { limit: 1 } }),
    ]
    const read = (cursor: unknown) =>
      callTool(api, eve?.key ?? '', { name: 'search_contacts', args: { limit: 1, cursor } })
    expect((await read(value['nextCursor'])).isError).toBe(false)
    expect(await read(foreign['nextCursor'])).toMatchObject({ isError: true, value: { message: 'Invalid cursor' } })
  })
})
