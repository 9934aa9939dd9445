/**
 * Random files, with kills between their steps, changes of address, merges and deletions between them. A model keeps the
 * suppressions of each address, here or in a file. After each step, no address may be mailable that has one, and none that neither was mailable before nor is confirmed by the file.
 */
import { createTestCtx, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { claimTestImport, queueTestImport, runQueuedImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { chooseSeed, countRuns, createRandom, type Random } from '@rapport/testing/runs.ts'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { upsertContact } from '../contacts/upsert-contact.ts'
import { AppError } from '../kernel/errors.ts'
import { type ContactId, type ListId, newId, uuidOf } from '../kernel/ids.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import type { Ctx } from '../request/context.ts'
import { releaseClaim } from '../work/claims.ts'
import { cancelImport } from './imports.ts'
import { finishImport } from './import-claim.ts'
import { purgeImport } from './purge-imports.ts'
import { importSteps } from './import-steps.ts'

const database = useTestDatabase()
const names = ['a', 'b', 'c', 'd', 'e']
const externalIds = ['', '', 'x', 'y', 'z']
const statuses = [
  'CONFIRMED',
  'active',
  'CONFIRMED',
  'pending',
  'archived',
  '',
  'UNSUBSCRIBED',
  'blocklisted',
  'cleaned',
  'spam',
  'disabled',
]

interface Row {
  externalId: string
  name: string
  status: string
}
interface File {
  rows: Row[]
  /** Whose opt-outs concern it, and where rows are confirmed. */
  list: number | undefined
  onConflict: string
}
interface World {
  ctx: Ctx
  lists: ListId[]
  random: Random
  history: string[]
  /** `all`, `block`, `bounce`, or the number of a list, by the name of an address. */
  against: Map<string, Set<string>>
}

const pick = <Item>(random: Random, items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
const emailOf = (name: string) => `${name}@example.com`
const scopes: Record<string, string> = { blocklisted: 'all', spam: 'all', cleaned: 'bounce', disabled: 'block' }
const confirming = ['CONFIRMED', 'active']

function add(world: World, name: string, scope: string) {
  world.against.set(name, (world.against.get(name) ?? new Set()).add(scope))
}
const isBarred = (against: World['against'], { name, list }: Pair) =>
  ['all', 'block', 'bounce', `${list}`].some((scope) => against.get(name)?.has(scope))

interface Pair {
  name: string
  list: number
}
const keyOf = ({ name, list }: Pair) => `${name}${list}`

/** The pairs of address and list that are confirmed, and those whose status a bounce or block only replaced. */
async function readPairs({ ctx, lists }: World): Promise<{ mailable: Pair[]; latent: Set<string> }> {
  const { rows } = await ctx.db.execute<{ name: string; list_id: string; status: string }>(sql`
    select split_part(lower(c.email), '@', 1) as name, s.list_id, s.status from subscriptions s
    join contacts c on c.workspace_id = s.workspace_id and c.id = s.contact_id
    where s.workspace_id = ${uuidOf(ctx.workspaceId)} and s.own_status = 'CONFIRMED'`)
  const ids = lists.map(uuidOf)
  const pairs = rows.map((row) => ({ name: row.name, list: ids.indexOf(row.list_id), status: row.status }))
  return { mailable: pairs.filter(({ status }) => status === 'CONFIRMED'), latent: new Set(pairs.map(keyOf)) }
}

async function readNames({ ctx }: World): Promise<Map<string, string>> {
  const { rows } = await ctx.db.execute<{ name: string; external_id: string }>(sql`
    select split_part(lower(email), '@', 1) as name, external_id from contacts
    where workspace_id = ${uuidOf(ctx.workspaceId)} and external_id is not null
    union all
    select split_part(lower(c.email), '@', 1), a.external_id from external_id_aliases a
    join contacts c on c.workspace_id = a.workspace_id and c.id = a.contact_id
    where a.workspace_id = ${uuidOf(ctx.workspaceId)}`)
  return new Map(rows.map((row) => [row.external_id, row.name]))
}

const scopeOf = ({ list }: File, { status }: Row) =>
  status === 'UNSUBSCRIBED' ? (list === undefined ? 'all' : `${list}`) : scopes[status]

/** What the rows say against addresses: their own, and those of the contacts that their external ids find. */
function findAgainst(file: File, nameOf: Map<string, string>): World['against'] {
  const against: World['against'] = new Map()
  for (const row of file.rows) {
    const scope = scopeOf(file, row)
    if (scope === undefined) continue
    const known = nameOf.get(row.externalId)
    const found = [row.name, known ?? ''].filter((name) => name !== '')
    for (const name of scope === 'bounce' ? found.slice(0, 1) : found)
      against.set(name, (against.get(name) ?? new Set()).add(scope))
  }
  return against
}

/** The addresses that a file connects by external ids, with the contacts here. */
function connect(file: File, nameOf: Map<string, string>): (name: string) => Set<string> {
  const edges = [...file.rows.map(({ externalId, name }) => [externalId, name]), ...nameOf].filter(
    ([id, name]) => id && name,
  )
  return (name) => {
    const connected = new Set([name])
    for (let size = 0; size < connected.size; ) {
      size = connected.size
      const ids = new Set(edges.filter(([, one]) => connected.has(one ?? '')).map(([id]) => id))
      for (const [id, one] of edges) if (ids.has(id)) connected.add(one ?? '')
    }
    return connected
  }
}

/**
 * Whether a row confirms the address, and no row opts out under its external id. A row without an address is about that
 * of its external id.
 */
function isConfirmedBy(file: File, { name, list }: Pair, nameOf: Map<string, string>): boolean {
  if (file.list !== list) return false
  const optedOut = new Set(file.rows.filter((row) => scopeOf(file, row)).map(({ externalId }) => externalId))
  const hasAddress = (externalId: string) =>
    nameOf.get(externalId) === name || file.rows.some((row) => row.externalId === externalId && row.name === name)
  return file.rows.some(
    (row) =>
      confirming.includes(row.status) &&
      (row.name === '' ? hasAddress(row.externalId) : row.name === name) &&
      (!row.externalId || !optedOut.has(row.externalId)),
  )
}

async function importFile(world: World) {
  const { ctx, random, lists } = world
  const file: File = {
    rows: Array.from({ length: 1 + Math.floor(random() * 7) }, () => ({
      externalId: pick(random, externalIds),
      name: random() < 0.1 ? '' : pick(random, names),
      status: pick(random, statuses),
    })),
    list: pick(random, [0, 0, 1, undefined]),
    onConflict: pick(random, ['skip', 'update']),
  }
  // Rows of others between them, so that they are in two chunks.
  const padding =
    random() < 0.2 ? Array.from({ length: 1_000 }, (_, index) => `,padding${index}@example.com,none\n`) : []
  const lines = file.rows.map(({ externalId, name, status }) => `${externalId},${name && emailOf(name)},${status}\n`)
  const middle = Math.floor(random() * lines.length)
  const [before, nameOf] = [await readPairs(world), await readNames(world)]
  const against = findAgainst(file, nameOf)
  const connected = connect(file, nameOf)
  const isAllowed = (pair: Pair) =>
    isConfirmedBy(file, pair, nameOf) ||
    [...connected(pair.name)].some((name) => before.latent.has(keyOf({ ...pair, name })))
  const listId = file.list === undefined ? undefined : lists[file.list]
  const { id } = await queueTestImport(
    ctx,
    ['externalId,email,status\n', ...lines.slice(0, middle), ...padding, ...lines.slice(middle)],
    { onConflict: file.onConflict, listId },
  )
  const check = async (isRecorded: boolean) => {
    const known = new Set(before.mailable.map(keyOf))
    const broken = (await readPairs(world)).mailable.filter((pair) =>
      known.has(keyOf(pair)) && !isRecorded
        ? false
        : isBarred(against, pair) || isBarred(world.against, pair) || !isAllowed(pair),
    )
    expect([world.history, broken]).toEqual([world.history, []])
  }
  world.history.push(`import ${JSON.stringify(file)}`)
  const killedAfter = Math.floor(random() * 5)
  const claimed = await claimTestImport(ctx, id)
  let count = 0
  for await (const step of importSteps(ctx, claimed)) {
    if (count === killedAfter) break
    await step()
    count += 1
    await check(true)
  }
  if (count === killedAfter) {
    const isCanceled = random() < 0.5
    world.history.push(`killed after ${count}, ${isCanceled ? 'canceled' : 'resumed'}`)
    await check(count > 0)
    await releaseClaim(ctx, claimed.claim, 'retry')
    if (isCanceled) await cancelImport(ctx, id)
    else await runQueuedImport(ctx, id)
    if (isCanceled && count === 0) return
  } else {
    await finishImport(ctx, claimed)
    await purgeImport(ctx, claimed)
  }
  for (const [name, said] of against) for (const scope of said) add(world, name, scope)
  await check(true)
}

/** What a person said, and blocks, hold for another address too. */
function share(world: World, from: string, to: string) {
  for (const scope of world.against.get(from) ?? []) if (scope !== 'bounce') add(world, to, scope)
}

const idOfName = async ({ ctx }: World, name: string): Promise<ContactId> =>
  (await findContactByEmail(ctx, emailOf(name)))?.id ?? newId('con')

const steps: Record<string, (world: World, one: string, other: string) => Promise<unknown>> = {
  async move(world, one) {
    const externalId = pick(world.random, ['x', 'y', 'z'])
    const from = (await readNames(world)).get(externalId)
    await upsertContact(world.ctx, { externalId, email: emailOf(one) })
    if (from !== undefined && from !== one) share(world, from, one)
  },
  async merge(world, one, other) {
    const ids = [await idOfName(world, one), await idOfName(world, other)] as const
    await mergeContacts(world.ctx, ids[0], { contactId: ids[1] })
    share(world, other, one)
  },
  erase: async (world, one) => deleteContact(world.ctx, await idOfName(world, one)),
}

const seeds = Array.from({ length: countRuns({ gate: 2, full: 2_000 }) }, (_, index) => chooseSeed(index + 1) + index)

test.each(seeds)('no file makes an address mailable that was not, seed %i', async (seed) => {
  const ctx = await createTestCtx(database.db)
  const lists = [(await createTestList(ctx)).id, (await createTestList(ctx)).id]
  const world: World = { ctx, lists, random: createRandom(seed), history: [], against: new Map() }
  for (let count = 0; count < 12; count++) {
    const [name, one, other] = [
      pick(world.random, Object.keys(steps)),
      pick(world.random, names),
      pick(world.random, names),
    ]
    if (world.random() < 0.6) await importFile(world)
    else {
      world.history.push(`${name} ${one} ${other}`)
      await steps[name]?.(world, one, other).catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code === 'internal_error') throw error
      })
    }
    const broken = (await readPairs(world)).mailable.filter((pair) => isBarred(world.against, pair))
    expect([world.history, broken]).toEqual([world.history, []])
  }
})
