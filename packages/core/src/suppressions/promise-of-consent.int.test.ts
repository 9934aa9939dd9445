/**
 * Random orders of everything that subscribes, unsubscribes and suppresses. A model keeps what stands against each
 * address; after each step, no address may be mailable against which anything stands.
 */
import { createTestCtx, createTestList, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { chooseSeed, countRuns, createRandom, type Random } from '@rapport/testing/runs.ts'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { updateContact } from '../contacts/update-contact.ts'
import { upsertContact } from '../contacts/upsert-contact.ts'
import { AppError } from '../kernel/errors.ts'
import { type ContactId, idOf, type ListId, newId, uuidOf } from '../kernel/ids.ts'
import { confirmSubscription, subscribe } from '../lists/subscribe.ts'
import { openConfirmation, unsubscribeUrl } from '../lists/subscription-links.ts'
import { addSubscriber, removeSubscriber } from '../lists/subscribers.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { optOutContact, undoOptOut } from '../operations/contacts/opt-out-contact.ts'
import { unsubscribe } from '../operations/contacts/unsubscribe.ts'
import type { Ctx } from '../request/context.ts'
import { liftSuppression } from './lift-suppression.ts'
import { suppress } from './suppress.ts'
import { createSuppression, listSuppressions } from './suppressions.ts'
import { SuppressionQuery } from './suppressions.schema.ts'

const database = useTestDatabase()
const emails = ['a', 'b', 'c', 'd'].map((name) => `${name}@example.com`)

/** What stands against an address: `all`, `bounce`, `block`, or the id of a list, with who said it. */
type Model = Map<string, Map<string, 'person' | 'operator'>>

interface World {
  ctx: Ctx
  lists: ListId[]
  against: Model
  random: Random
}

interface Picked {
  email: string
  other: string
  listId: ListId
}
type Step = (world: World, picked: Picked) => Promise<unknown>

const pick = <Item>(random: Random, items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
const saidOf = ({ against }: World, email: string) => against.get(email) ?? new Map<string, 'person' | 'operator'>()
const say = (world: World, email: string, scope: string) => {
  world.against.set(email, saidOf(world, email).set(scope, 'person'))
}
/** Through the operator, who can undo it unless the person has said the same. */
const sayThroughOperator = (world: World, email: string, scope: string) => {
  if (!saidOf(world, email).has(scope)) world.against.set(email, saidOf(world, email).set(scope, 'operator'))
}
/** What the person said, and blocks, hold for another address too. */
const share = (world: World, from: string, to: string) => {
  for (const [scope, by] of saidOf(world, from)) {
    if (scope !== 'bounce') (by === 'person' ? say : sayThroughOperator)(world, to, scope)
  }
}
const idOfEmail = async ({ ctx }: World, email: string): Promise<ContactId> =>
  (await findContactByEmail(ctx, email))?.id ?? newId('con')

async function clickUnsubscribe({ ctx }: World, link: { contactId: ContactId; email: string; listId: ListId }) {
  await unsubscribe(ctx, new URL(unsubscribeUrl(ctx, link)).searchParams.get('token') ?? '')
}

async function findSuppression({ ctx }: World, email: string) {
  const { data } = await listSuppressions(ctx, SuppressionQuery.parse({ email }))
  return data[0]?.id ?? newId('sup')
}

const steps: Record<string, Step> = {
  create: ({ ctx }, { email }) => upsertContact(ctx, { email }),
  add: ({ ctx }, { email, listId }) => addSubscriber(ctx, listId, { email, status: 'CONFIRMED' }),
  import: ({ ctx }, { email, other, listId }) => runTestImport(ctx, `email\n${email}\n${other}`, { listId }),
  remove: async (world, { email, listId }) => removeSubscriber(world.ctx, listId, await idOfEmail(world, email)),
  async signUp({ ctx }, { email, listId }) {
    await database.db.execute(sql`update mail_requests set ${backdate('created_at', '1 hour')}`)
    await subscribe(ctx, listId, { email, firstName: '', lastName: '' })
  },
  async confirm(world, { email, listId }) {
    await steps['signUp']?.(world, { email, other: email, listId })
    const token = await readMailedToken(world.ctx, email)
    await confirmSubscription(world.ctx, token)
    // The newest link may be that of the other list.
    for (const scope of ['all', openConfirmation(world.ctx, token).listId]) saidOf(world, email).delete(scope)
  },
  async click(world, { email, listId }) {
    const contactId = await idOfEmail(world, email)
    await clickUnsubscribe(world, { contactId, email, listId })
    say(world, email, listId)
  },
  async complain(world, { email }) {
    await suppress(world.ctx, [{ email, reason: 'COMPLAINED', source: 'MAIL_EVENT' }], { emitsEvents: false })
    say(world, email, 'all')
  },
  async bounce(world, { email }) {
    await suppress(world.ctx, [{ email, reason: 'BOUNCED', source: 'MAIL_EVENT' }], { emitsEvents: false })
    say(world, email, 'bounce')
  },
  async block(world, { email }) {
    await createSuppression(world.ctx, { email, reason: 'MANUAL' })
    say(world, email, 'block')
  },
  async lift(world, { email }) {
    await liftSuppression(world.ctx, await findSuppression(world, email), { note: 'lifted' })
    for (const scope of ['bounce', 'block']) saidOf(world, email).delete(scope)
  },
  async optOut(world, { email, listId }) {
    const isAll = world.random() < 0.5
    await optOutContact(world.ctx, await idOfEmail(world, email), isAll ? {} : { listId })
    sayThroughOperator(world, email, isAll ? 'all' : listId)
  },
  async undo(world, { email, listId }) {
    const scope = world.random() < 0.5 ? 'all' : listId
    await undoOptOut(world.ctx, await idOfEmail(world, email), scope === 'all' ? {} : { listId })
    if (saidOf(world, email).get(scope) === 'operator') saidOf(world, email).delete(scope)
  },
  async move(world, { email, other }) {
    await updateContact(world.ctx, await idOfEmail(world, email), { email: other })
    share(world, email, other)
  },
  async merge(world, { email, other }) {
    const ids = [await idOfEmail(world, email), await idOfEmail(world, other)] as const
    await mergeContacts(world.ctx, ids[0], { contactId: ids[1] })
    share(world, other, email)
  },
  erase: async (world, { email }) => deleteContact(world.ctx, await idOfEmail(world, email)),
}

async function readMailable({ ctx }: World) {
  const { rows } = await ctx.db.execute(sql`
    select lower(c.email) as email, s.list_id from subscriptions s
    join contacts c on c.workspace_id = s.workspace_id and c.id = s.contact_id
    where s.workspace_id = ${uuidOf(ctx.workspaceId)} and s.status = 'CONFIRMED'`)
  return rows.map((row) => ({ email: String(row['email']), listId: idOf('lst', String(row['list_id'])) }))
}

async function findBroken(world: World): Promise<string[]> {
  return (await readMailable(world)).flatMap(({ email, listId }) => {
    const said = saidOf(world, email)
    return ['all', 'bounce', 'block', listId].filter((scope) => said.has(scope)).map((scope) => `${email} ${scope}`)
  })
}

async function createWorld(seed: number): Promise<World> {
  const ctx = await createTestCtx(database.db)
  const lists = [(await createTestList(ctx)).id, (await createTestList(ctx, { doubleOptIn: false })).id]
  return { ctx, lists, against: new Map(), random: createRandom(seed) }
}

/** Requests that are refused are part of the world; other errors are bugs. */
async function take(name: string, world: World, picked: Picked) {
  await steps[name]?.(world, picked).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code === 'internal_error') throw error
  })
}

const pickFrom = ({ random, lists }: World): Picked => ({
  email: pick(random, emails),
  other: pick(random, emails),
  listId: pick(random, lists),
})

const seeds = Array.from({ length: countRuns({ gate: 3, full: 200 }) }, (_, index) => chooseSeed(index + 1) + index)

test.each(seeds)('nothing makes an address mailable against which anything stands, seed %i', async (seed) => {
  const world = await createWorld(seed)
  const history: string[] = []
  for (let count = 0; count < 50; count++) {
    const picked = pickFrom(world)
    const name = pick(world.random, Object.keys(steps))
    history.push(`${name} ${picked.email} ${picked.other} ${world.lists.indexOf(picked.listId)}`)
    await take(name, world, picked)
    expect([history, await findBroken(world)]).toEqual([history, []])
  }
})

const joining = ['create', 'add', 'import', 'signUp', 'move']
const leaving = ['click', 'complain', 'bounce', 'block', 'optOut']

test.each(seeds.slice(0, 2))('the same holds for two requests at once, seed %i', async (seed) => {
  const world = await createWorld(seed)
  for (let count = 0; count < 15; count++) {
    const [picked, other] = [pickFrom(world), pickFrom(world)]
    const names = [pick(world.random, joining), pick(world.random, leaving)] as const
    await Promise.all([take(names[0], world, picked), take(names[1], world, { ...other, email: picked.email })])
    expect([seed, count, names, await findBroken(world)]).toEqual([seed, count, names, []])
    await take('erase', world, { ...picked, email: picked.other })
  }
})
