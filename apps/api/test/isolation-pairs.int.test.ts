/** Random isolation tests: requests of any role that name records of another workspace, in any parameter. */
import { idOf, type IdPrefix } from '@rapport/core/kernel/ids.ts'
import fc from 'fast-check'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { beforeAll, expect, test } from 'vitest'
import { cases, fillWorkspace, type Ids, unknownIds, type Request } from './isolation-cases.ts'
import { eveEmail } from './isolation-mcp.ts'
import { readEverything, toComparable } from './isolation-workspace.ts'
import { type Json, startTestApi, type TestWorkspace } from './testing.ts'

const seed = chooseSeed(20_261_125)
const idKeys = Object.keys(unknownIds) as (keyof Ids)[]
/** The isolation cases, and the listings, which accept a cursor and filters. */
const ways = Object.entries(cases).flatMap(([name, makers]) => {
  const [method = '', template = ''] = name.split(' ')
  const listing = method === 'GET' && !template.includes('{') ? [() => ({ path: template })] : []
  return [...makers, ...listing].map((make) => ({ name, method, make }))
})

const api = useForFile(() => startTestApi())
let [ada, eve]: TestWorkspace[] = []
let [adaIds, eveIds]: Ids[] = []
/** Eve's credentials by role; `none` is no credential. */
const credentials: Record<string, string> = { none: '' }
/** The query parameters of each operation. */
const parameters: Record<string, string[]> = {}
/** Ada's cursor of each listing with more than one page. */
const cursors: Record<string, string> = {}
beforeAll(async () => {
  ;[ada, eve] = [await api.signUp(), await api.signUp(eveEmail)]
  ;[adaIds, eveIds] = [await fillWorkspace(api, ada), await fillWorkspace(api, eve)]
  for (const role of ['VIEWER', 'MEMBER', 'ADMIN'] as const) credentials[role] = await api.issueKey(eve.token, role)
  credentials['OWNER'] = eve.token
  const { body } = await api.call<{ paths: Record<string, Record<string, { parameters?: Json[] }>> }>(
    'GET',
    '/openapi.json',
  )
  for (const { name, method, make } of ways) {
    const template = name.slice(method.length + 1)
    const described = body.paths[template]?.[method.toLowerCase()]?.parameters ?? []
    parameters[name] = described.filter((one) => one['in'] === 'query').map((one) => String(one['name']))
    if (!parameters[name].includes('cursor')) continue
    const { path } = make(adaIds, adaIds)
    const page = await api.call('GET', `${path}${path.includes('?') ? '&' : '?'}limit=1`, { key: ada.token })
    if (typeof page.body['nextCursor'] === 'string') cursors[name] = page.body['nextCursor']
  }
})

/** Returns a function that makes an unknown id with the prefix of the given one. */
const randomIds = fc
  .uuid({ version: [4, 7] })
  .map((uuid) => Object.assign((of: string) => idOf(of.slice(0, 3) as IdPrefix, uuid), { toString: () => uuid }))
/** Returns a function that changes one character of a cursor. */
const randomCursors = fc.nat().map((place) => (of: string) => {
  const index = place % of.length
  return `${of.slice(0, index)}${of[index] === 'A' ? 'B' : 'A'}${of.slice(index + 1)}`
})

const pairs = fc.record({
  way: fc.constantFrom(...ways),
  as: fc.constantFrom('OWNER', 'ADMIN', 'MEMBER', 'VIEWER', 'none'),
  /** The kinds for which the first request names Ada's records. The other ids are unknown in both requests. */
  foreign: fc.oneof(fc.constant(idKeys), fc.subarray(idKeys, { minLength: 1 })),
  /** Sometimes names a record of another kind. */
  swapped: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(idKeys.length) }),
  missing: randomIds,
  /** Adds to the query Ada's cursor, or an id of hers in any parameter. */
  query: fc.option(fc.record({ isCursor: fc.boolean(), parameter: fc.nat(), value: fc.nat(), cursor: randomCursors }), {
    freq: 2,
  }),
})
type Pair = typeof pairs extends fc.Arbitrary<infer Value> ? Value : never

/** The same request twice: with Ada's ids, and with unknown ids in their place. */
function requestsOf({ way, foreign, swapped, missing, query }: Pair): [Request, Request] {
  if (!adaIds || !eveIds) throw new Error('The records are missing')
  const mine = adaIds
  const named = (isForeign: boolean) =>
    Object.fromEntries(
      idKeys.map((key, index) => {
        const ids = mine[idKeys[(index + swapped) % idKeys.length] ?? key]
        const pick = (id: string) => (isForeign && foreign.includes(key) ? id : missing(id))
        const all = (typeof ids === 'string' ? [ids, ids, ids] : ids).map(pick)
        return [key, Array.isArray(unknownIds[key]) ? all : all[0]]
      }),
    ) as unknown as Ids
  const added = (isForeign: boolean) => {
    const names = parameters[way.name] ?? []
    if (!query || names.length === 0) return ''
    const cursor = cursors[way.name]
    if (cursor && query.isCursor) return `cursor=${isForeign ? cursor : query.cursor(cursor)}`
    const name = names[query.parameter % names.length] ?? ''
    const ids: string[] = idKeys.flatMap((key) => mine[key])
    const id = ids[query.value % ids.length] ?? ''
    return `${name}=${encodeURIComponent(isForeign ? id : missing(id))}`
  }
  const request = (isForeign: boolean): Request => {
    const made = way.make(named(isForeign), eveIds as Ids)
    const more = added(isForeign)
    return { ...made, path: `${made.path}${more && (made.path.includes('?') ? '&' : '?')}${more}` }
  }
  return [request(true), request(false)]
}

test(`records of another workspace are like unknown ones (seed ${seed})`, async () => {
  expect(Object.keys(cursors).length).toBeGreaterThan(10)
  const before = await readEverything(api, ada?.id)
  const statuses = new Set<number>()
  const property = fc.asyncProperty(pairs, async (pair) => {
    const [foreign, missing] = requestsOf(pair)
    const ask = ({ path, ...sent }: Request) =>
      api.call(pair.way.method, path, { key: credentials[pair.as] ?? '', ...sent })
    const [other, response] = [await ask(missing), await ask(foreign)]
    expect({ ...foreign, ...toComparable(response) }).toEqual({ ...foreign, ...toComparable(other) })
    expect(await readEverything(api, ada?.id)).toEqual(before)
    statuses.add(response.status)
  })
  await fc.assert(property, { seed, numRuns: countRuns({ gate: 75, full: 3_000 }) })
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404]))
})
