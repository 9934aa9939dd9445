/**
 * Random orders of requests without a credential, on lists with and without double opt-in. A subscription is CONFIRMED
 * only if the link of an email was used since it was requested.
 */
import { readMailable } from '@rapport/testing/consent/consent-steps.ts'
import { createTestCtx, createTestForm, createTestList, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { chooseSeed, countRuns, createRandom, type Random } from '@rapport/testing/runs.ts'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { submitForm } from '../forms/submissions.ts'
import type { Form } from '../forms/forms.schema.ts'
import { AppError } from '../kernel/errors.ts'
import { type ListId, newId } from '../kernel/ids.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { unsubscribe } from '../operations/contacts/unsubscribe.ts'
import { askToReturn, leaveListByPreferences } from '../operations/preferences/change-preferences.ts'
import type { Ctx } from '../request/context.ts'
import { preferencesUrl } from '../consent/preferences-links.ts'
import { updateList } from './lists.ts'
import { confirmSubscription, subscribe } from './subscribe.ts'
import { openConfirmation, unsubscribeUrl } from './subscription-links.ts'
import { removeSubscriber } from './subscribers.ts'

const database = useTestDatabase()

interface Step {
  ctx: Ctx
  email: string
  form: Form
  listId: ListId
  doubleOptIn: boolean
}
/** Returns which subscription has a used link, or has ended. */
type Outcome = { link: string; isUsed: boolean } | undefined

const linkOf = (email: string, listId: ListId) => `${email} on ${listId}`
const tokenOf = (url: string) => new URL(url).searchParams.get('token') ?? ''
const idOf = async (ctx: Ctx, email: string) => (await findContactByEmail(ctx, email))?.id ?? newId('con')
const preferencesOf = async (ctx: Ctx, email: string) =>
  tokenOf(preferencesUrl(ctx, { email, contactId: await idOf(ctx, email) }))

const visits: Record<string, (step: Step) => Promise<unknown>> = {
  signUp: ({ ctx, email, listId }) => subscribe(ctx, listId, { email, firstName: '', lastName: '' }),
  submit: ({ ctx, email, form }) => submitForm(ctx, form.id, { values: { email, news: true } }),
  askToReturn: async ({ ctx, email, listId }) => askToReturn(ctx, { token: await preferencesOf(ctx, email), listId }),
  change: ({ ctx, listId, doubleOptIn }) => updateList(ctx, listId, { doubleOptIn }),
}

const endings: Record<string, (step: Step) => Promise<unknown>> = {
  async unsubscribe({ ctx, email, listId }) {
    const contactId = await idOf(ctx, email)
    await unsubscribe(ctx, tokenOf(unsubscribeUrl(ctx, { listId, contactId, email })))
  },
  leave: async ({ ctx, email, listId }) =>
    leaveListByPreferences(ctx, { token: await preferencesOf(ctx, email), listId }),
  remove: async ({ ctx, email, listId }) => removeSubscriber(ctx, listId, await idOf(ctx, email)),
  erase: async ({ ctx, email }) => deleteContact(ctx, await idOf(ctx, email)),
}

async function useLink({ ctx, email }: Step): Promise<Outcome> {
  const token = await readMailedToken(ctx, email)
  await confirmSubscription(ctx, token)
  return { link: linkOf(email, openConfirmation(ctx, token).listId), isUsed: true }
}

async function end(name: string, step: Step): Promise<Outcome> {
  await endings[name]?.(step)
  return { link: linkOf(step.email, step.listId), isUsed: false }
}

/** A refused request changes nothing. */
async function take(name: string, step: Step): Promise<Outcome> {
  try {
    if (name === 'useLink') return await useLink(step)
    if (name in endings) return await end(name, step)
    await visits[name]?.(step)
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'internal_error') throw error
  }
  return undefined
}

const names = [...Object.keys(visits), ...Object.keys(endings), ...Array.from({ length: 5 }, () => 'useLink')]
const pick = <Item>(random: Random, items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
const seeds = Array.from({ length: countRuns({ gate: 3, full: 200 }) }, (_, index) => chooseSeed(index + 1) + index)

test.each(seeds)('without a credential, only a used link confirms, seed %i', async (seed) => {
  const [ctx, random] = [await createTestCtx(database.db), createRandom(seed)]
  const places = await Promise.all(
    [true, false].map(async (doubleOptIn) => {
      const { id: listId } = await createTestList(ctx, { doubleOptIn })
      return { listId, form: await createTestForm(ctx, { listId }) }
    }),
  )
  const used = new Set<string>()
  let uses = 0
  const history: string[] = []
  for (let count = 0; count < 60; count++) {
    await database.db.execute(sql`update mail_requests set ${backdate('created_at', '1 day')}`)
    const step = { ctx, ...pick(random, places), email: `${pick(random, ['a', 'b'])}-${seed}@example.com` }
    const name = pick(random, names)
    history.push(`${name} ${linkOf(step.email, step.listId)}`)
    const outcome = await take(name, { ...step, doubleOptIn: random() < 0.5 })
    if (outcome?.isUsed) used.add(outcome.link)
    else if (outcome) used.delete(outcome.link)
    uses += outcome?.isUsed ? 1 : 0
    const confirmed = (await readMailable(ctx)).map(({ email, listId }) => linkOf(email, listId))
    expect([history, confirmed.filter((link) => !used.has(link))]).toEqual([history, []])
  }
  expect(uses).toBeGreaterThan(0)
})
