/**
 * Random orders of everything that subscribes, unsubscribes and suppresses. A model keeps the suppressions of each
 * address; after each step, no address may be mailable that has one, or that is still to be asked.
 */
import {
  agree,
  consent,
  type ConsentModel,
  createConsentModel,
  findBroken,
  say,
  undoByPerson,
} from '@rapport/testing/consent/consent-model.ts'
import {
  clickUnsubscribe,
  type ConsentStep,
  consentSteps,
  type Picked,
  readMailable,
} from '@rapport/testing/consent/consent-steps.ts'
import { createTestCtx, createTestList, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { chooseSeed, countRuns, createRandom, type Random } from '@rapport/testing/runs.ts'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { AppError } from '../kernel/errors.ts'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { type ListId, newId } from '../kernel/ids.ts'
import { confirmSubscription } from '../lists/subscribe.ts'
import { openConfirmation } from '../lists/subscription-links.ts'
import { undoUnsubscribe } from '../operations/contacts/unsubscribe.ts'
import type { Ctx } from '../request/context.ts'
import { updateWorkspace } from '../workspaces/update-workspace.ts'

const database = useTestDatabase()
const emails = ['a', 'b', 'c', 'd'].map((name) => `${name}@example.com`)

/** The word of a link, which its page can undo. */
interface Undo {
  token: string
  email: string
  listId: ListId
  at: number
}

interface World {
  ctx: Ctx
  lists: ListId[]
  model: ConsentModel
  random: Random
}

const pick = <Item>(random: Random, items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item

/** The links of the pages after unsubscribing and of the confirmations that were mailed, oldest first. */
const undos: Undo[] = []
const links: Undo[] = []

/** The newest link that the person has. */
const newest = (given: readonly Undo[], email: string) => given.findLast((one) => one.email === email)

const steps: Record<string, ConsentStep> = {
  ...consentSteps,
  async click(ctx, { email, listId }) {
    const contact = await findContactByEmail(ctx, email)
    const token = contact && (await clickUnsubscribe(ctx, { contactId: contact.id, email, listId }))
    return (
      contact &&
      ((model) => {
        say({ email, scope: listId })(model)
        if (token !== undefined) undos.push({ token, email, listId, at: model.clock })
      })
    )
  },
  async undoClick(ctx, { email }) {
    const undo = newest(undos, email)
    if (!undo) return undefined
    await undoUnsubscribe(ctx, undo.token)
    return undoByPerson(undo)
  },
  async oldLink(ctx, { email }) {
    const link = newest(links, email)
    if (!link) return undefined
    await confirmSubscription(ctx, link.token)
    return consent(link)
  },
  async import(ctx, { email, other, listId }) {
    await runTestImport(ctx, `email\n${email}\n${other}`, { listId })
    return (model) => [email, other].forEach((one) => agree(one, listId)(model))
  },
  async signUp(ctx, picked) {
    await database.db.execute(sql`update mail_requests set ${backdate('created_at', '1 hour')}`)
    await consentSteps.signUp(ctx, picked)
    const { email } = picked
    const token = await readMailedToken(ctx, email)
    return (model) => {
      if (token === newest(links, email)?.token || token.includes(' ')) return
      links.push({ token, email, listId: openConfirmation(ctx, token).listId, at: model.clock })
    }
  },
  async ask(ctx, { isAll }) {
    await updateWorkspace(ctx, { confirmChangedAddress: isAll })
    return undefined
  },
  /** A link of a contact that was erased has only a hash of the address, so it holds for contacts to come. */
  async clickOfErased(ctx, { email, listId }) {
    if (await findContactByEmail(ctx, email)) return undefined
    await clickUnsubscribe(ctx, { contactId: newId('con'), email, listId })
    return say({ email, scope: listId })
  },
  async confirm(ctx, picked) {
    const { email } = picked
    const signedUp = await steps['signUp']?.(ctx, picked)
    const token = await readMailedToken(ctx, email)
    await confirmSubscription(ctx, token)
    // The newest link may be that of the other list.
    const { listId } = openConfirmation(ctx, token)
    return (model) => {
      signedUp?.(model)
      consent({ email, listId, at: model.clock })(model)
    }
  },
}

async function createWorld(seed: number): Promise<World> {
  for (const given of [undos, links]) given.length = 0
  const ctx = await createTestCtx(database.db)
  const lists = [(await createTestList(ctx)).id, (await createTestList(ctx, { doubleOptIn: false })).id]
  return { ctx, lists, model: createConsentModel(lists), random: createRandom(seed) }
}

/** Requests that are refused are part of the world; other errors are bugs. */
async function take(name: string, world: World, picked: Picked) {
  const effect = await steps[name]?.(world.ctx, picked).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code === 'internal_error') throw error
  })
  effect?.(world.model)
}

const pickFrom = ({ random, lists }: World): Picked => ({
  email: pick(random, emails),
  other: pick(random, emails),
  listId: pick(random, lists),
  isAll: random() < 0.5,
})

const readBroken = async ({ ctx, model }: World) => findBroken(model, await readMailable(ctx))

const seeds = Array.from({ length: countRuns({ gate: 3, full: 200 }) }, (_, index) => chooseSeed(index + 1) + index)

test.each(seeds)('nothing makes a suppressed address mailable, seed %i', async (seed) => {
  const world = await createWorld(seed)
  const history: string[] = []
  for (let count = 0; count < 50; count++) {
    const picked = pickFrom(world)
    const name = pick(world.random, Object.keys(steps))
    history.push(`${name} ${picked.email} ${picked.other} ${world.lists.indexOf(picked.listId)}`)
    await take(name, world, picked)
    expect([history, await readBroken(world)]).toEqual([history, []])
  }
})

const late = [
  'add',
  'click',
  'click',
  'optOut',
  'optOut',
  'remove',
  'signUp',
  'signUp',
  'oldLink',
  'oldLink',
  'undoClick',
]

test.each(seeds)('the same holds for links and undos after a later word, seed %i', async (seed) => {
  const world = await createWorld(seed)
  const history: string[] = []
  for (let count = 0; count < 60; count++) {
    const picked = { ...pickFrom(world), email: pick(world.random, emails.slice(0, 2)), isAll: false }
    const name = pick(world.random, late)
    history.push(`${name} ${picked.email} ${world.lists.indexOf(picked.listId)}`)
    await take(name, world, picked)
    expect([history, await readBroken(world)]).toEqual([history, []])
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
    expect([seed, count, names, await readBroken(world)]).toEqual([seed, count, names, []])
    await take('erase', world, { ...picked, email: picked.other })
  }
})
