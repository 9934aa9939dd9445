/** What is simulated of consent: calls that join, leave and move addresses, with and without an import that brings opt-outs along. */
import type { Database } from '@rapport/core/db/client.ts'
import { findContactByEmail } from '@rapport/core/contacts/find-contact.ts'
import { cancelImport, readImport } from '@rapport/core/imports/imports.ts'
import { purgeImports } from '@rapport/core/imports/purge-imports.ts'
import { type ImportId, type ListId, newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { addSubscriber } from '@rapport/core/lists/subscribers.ts'
import { confirmSubscription } from '@rapport/core/lists/subscribe.ts'
import { undoUnsubscribe } from '@rapport/core/operations/contacts/unsubscribe.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import {
  type ConsentModel,
  consent,
  createConsentModel,
  type Effect,
  findBroken,
  forget,
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
import { countRows, queueTestImport } from '@rapport/testing/fixtures/imports.ts'
import { type Choices, pick } from '../choices.ts'
import type { TraceEntry } from '../tasks.ts'
import { isCommitOf, isLateCommitOf } from '../trace-checks.ts'
import type { Scenario } from '../world.ts'

export const people = ['a', 'b', 'c'].map((name) => `${name}@example.com`)
export const addresses = [...people, 'd@example.com']

interface Start {
  ctx: Ctx
  lists: [ListId, ListId]
  model: ConsentModel
  /** Confirms the second person on the first list, and was mailed after they had left it. */
  confirm: ConsentStep
  /** Takes back that the first person left the second list. */
  undo: ConsentStep
}

/** The first person has left a list and may undo it, the second asks to come back, the operator opted the third one out. */
async function prepareStart(database: Database): Promise<Start> {
  const ctx = await createTestCtx(database.db)
  const lists: Start['lists'] = [(await createTestList(ctx)).id, (await createTestList(ctx)).id]
  const [first = '', second = '', third = ''] = people
  const [listId] = lists
  const model = createConsentModel(lists)
  const picked = { other: '', listId, isAll: true }
  for (const email of [first, second, third])
    for (const listId of lists) await addSubscriber(ctx, listId, { email, status: 'CONFIRMED' })
  const left = await consentSteps.click(ctx, { ...picked, email: second })
  left?.(model)
  // The clock could show the same time for the link that follows.
  for (const assignment of [
    `suppressions set said_at = said_at - interval '1 hour', first_said_at = first_said_at - interval '1 hour',
       created_at = created_at - interval '1 hour'`,
    `subscriptions set unsubscribed_at = unsubscribed_at - interval '1 hour'`,
  ])
    await database.pool.query(`update ${assignment} where workspace_id = $1`, [uuidOf(ctx.workspaceId)])
  const optOut = await consentSteps.optOut(ctx, { ...picked, email: third })
  optOut(model)
  await consentSteps.signUp(ctx, { ...picked, email: second })
  const token = await readMailedToken(ctx, second)
  const at = model.clock
  const confirm: ConsentStep = async (ctx) => {
    await confirmSubscription(ctx, token)
    return consent({ email: second, listId, at })
  }
  const [, leftList] = lists
  const contactId = (await findContactByEmail(ctx, first))?.id ?? newId('con')
  const undoToken = await clickUnsubscribe(ctx, { contactId, email: first, listId: leftList })
  say({ email: first, scope: leftList })(model)
  const leftAt = model.clock
  const undo: ConsentStep = async (ctx) => {
    await undoUnsubscribe(ctx, undoToken ?? '')
    return undoByPerson({ email: first, listId: leftList, at: leftAt })
  }
  return { ctx, lists, model, confirm, undo }
}

export interface ConsentCall {
  name: string
  step: ConsentStep
  picked: Picked
}

const steps: Record<string, ConsentStep> = consentSteps

interface Offer {
  lists: readonly ListId[]
  /** The names of the steps to choose from. */
  names?: readonly string[]
  count: number
}

/** Chooses calls. An address moves away once, so that the model knows from where. */
export function chooseConsentCalls(
  choices: Choices,
  { lists, names = Object.keys(steps), count }: Offer,
): ConsentCall[] {
  const moved = new Set<string>()
  const chosen = Array.from({ length: count }, (_, number) => {
    const name = pick(choices, names)
    const [email, other] = [pick(choices, people), pick(choices, addresses)]
    const picked = { email, other, listId: pick(choices, lists), isAll: choices.next() > 0.5 }
    return { name: `${name}-${number}`, step: steps[name] as ConsentStep, picked }
  })
  return chosen.filter((call) => {
    const way = findMove(call)
    return !way || (!moved.has(way.from) && moved.add(way.from) && way.from !== way.to)
  })
}

/** From where to where a call moves a person; undefined if it moves none. */
export function findMove({ name, picked: { email, other } }: ConsentCall): { from: string; to: string } | undefined {
  if (name.startsWith('merge')) return { from: other, to: email }
  return name.startsWith('move') ? { from: email, to: other } : undefined
}

function chooseCalls(choices: Choices, { lists, confirm, undo }: Start): ConsentCall[] {
  const picked = { email: people[1] ?? '', other: '', listId: lists[0], isAll: false }
  return [
    ...chooseConsentCalls(choices, { lists, count: 10 }),
    { name: 'confirm', step: confirm, picked },
    { name: 'undo-click', step: undo, picked: { ...picked, email: people[0] ?? '', listId: lists[1] } },
    { name: 'click-last', step: steps['click'] as ConsentStep, picked },
  ]
}

/** Makes calls of the API of these, and keeps what those that succeed mean for the model. */
export function watchCalls(calls: readonly ConsentCall[]) {
  const effects: { name: string; effect: Effect }[] = []
  const answered = new Set<string>()
  const watched = calls.map(({ name, step, picked }) => ({
    name,
    async call(ctx: Ctx) {
      const effect = await step(ctx, picked)
      answered.add(name)
      if (effect) add(name, effect)
    },
  }))
  /** Also for what others do beside the calls, by the name of their task. */
  const add = (name: string, effect: Effect) => void effects.push({ name, effect })
  /** Applies them in the order in which PostgreSQL committed them. */
  function apply(model: ConsentModel, trace: readonly TraceEntry[]): void {
    const committedAt = (name: string) =>
      Math.max(trace.findLastIndex(isCommitOf(name)), trace.findLastIndex(isLateCommitOf(name)))
    const lost = calls
      .filter(({ name }) => !answered.has(name) && committedAt(name) >= 0)
      .map(({ name, picked: { email, other } }) => ({ name, effect: forget([email, other]) }))
    const all = [...effects, ...lost].toSorted((a, b) => committedAt(a.name) - committedAt(b.name))
    for (const { effect } of all) effect(model)
  }
  return { calls: watched, add, apply }
}

export async function prepareConsent(database: Database, choices: Choices): Promise<Scenario> {
  const start = await prepareStart(database)
  const { calls, apply } = watchCalls(chooseCalls(choices, start))
  return {
    ctx: start.ctx,
    calls,
    isRecoveredAtOnce: false,
    finish: async () => {},
    async check(_world, trace) {
      apply(start.model, trace)
      return findBroken(start.model, await readMailable(start.ctx))
    },
  }
}

/** Those whom only the file knows: one row confirms them, another one opts them out. */
const optedOutByFile = ['x', 'y', 'z'].map((name) => `${name}@example.com`)
const rows = [
  'x@example.com,subscribed',
  'a@example.com,subscribed',
  'b@example.com,subscribed',
  'y@example.com,unsubscribed',
  'c@example.com,subscribed',
  'new@example.com,subscribed',
  'y@example.com,subscribed',
  'z@example.com,subscribed',
  'x@example.com,spam',
  'z@example.com,cleaned',
]

export async function prepareImport(database: Database, choices: Choices): Promise<Scenario> {
  const start = await prepareStart(database)
  const { ctx, lists, model } = start
  const file = ['email,status', ...rows].map((row) => `${row}\n`)
  const { id } = await queueTestImport(ctx, file, { listId: lists[0], events: 'each' })
  const { calls, apply } = watchCalls(chooseCalls(choices, start))
  return {
    ctx,
    calls: [...calls, { name: 'cancel', call: (ctx: Ctx) => cancelImport(ctx, id) }],
    isRecoveredAtOnce: true,
    finish: async () => {},
    async check(_world, trace) {
      apply(model, trace)
      for (const email of optedOutByFile) say({ email, scope: 'all' })(model)
      // The file says that these consent: that takes back a removal before it.
      for (const email of people) model.removed.get(email)?.delete(lists[0])
      return [...findBroken(model, await readMailable(ctx)), ...(await checkImport(database, ctx, id))]
    },
  }
}

/** An import ends once, has counted each row once, and leaves nothing of its file. */
async function checkImport({ db, pool }: Database, ctx: Ctx, id: ImportId): Promise<string[]> {
  // As the hourly maintenance does, after a kill at the end.
  while ((await purgeImports(db)) > 0);
  const record = await readImport(ctx, id)
  const { status, created, updated, skipped, failed, processed } = record
  const { rows: repeated } = await pool.query<{ type: string; count: number }>(
    `select type, count(*)::int from events where workspace_id = $1 and type in ('contact.created', 'import.completed')
     group by type, data ->> 'id' having count(*) > 1`,
    [uuidOf(ctx.workspaceId)],
  )
  const left = (await countRows(ctx, 'import_parts')) + (await countRows(ctx, 'import_seen'))
  const sum = created + updated + skipped + failed
  return [
    ...(/COMPLETED|CANCELED|FAILED/.test(status) ? [] : [`the import is ${status}`]),
    ...(status === 'COMPLETED' && processed !== rows.length ? [`${processed} of ${rows.length} rows are done`] : []),
    ...(sum === processed ? [] : [`${processed} rows are done, but ${sum} are counted`]),
    ...repeated.map(({ type, count }) => `there are ${count} events ${type} of one record`),
    ...(left > 0 ? [`${left} rows of the file are left`] : []),
  ]
}
