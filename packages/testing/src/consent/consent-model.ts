/** The suppressions of an address, as a model beside the database keeps them. */
import type { ListId } from '@rapport/core/kernel/ids.ts'

/** Every list, also those to come; an address that bounces; a block by the operator; or one list. */
export type Scope = 'all' | 'bounce' | 'block' | ListId

/** Whose word it is: the operator can undo their own unless the person has said the same. `at` is the clock's number. */
interface Said {
  by: 'person' | 'operator'
  at: number
}

export interface ConsentModel {
  against: Map<string, Map<Scope, Said>>
  /** When the operator removed an address from a list, which lasts until a later consent. */
  removed: Map<string, Map<ListId, number>>
  /** Lists to which an address that a contact moved to was not asked yet, see `confirmChangedAddress`. */
  unasked: Map<string, Set<ListId>>
  lists: readonly ListId[]
  /** Counts what was said. */
  clock: number
}

/** Applies what a step did. */
export type Effect = (model: ConsentModel) => void

export const createConsentModel = (lists: readonly ListId[]): ConsentModel => ({
  against: new Map(),
  removed: new Map(),
  unasked: new Map(),
  lists,
  clock: 0,
})

export const saidOf = ({ against }: ConsentModel, email: string): Map<Scope, Said> =>
  against.get(email) ?? new Map<Scope, Said>()

interface Statement {
  email: string
  scope: Scope
  by?: Said['by']
}

const removedOf = ({ removed }: ConsentModel, email: string): Map<ListId, number> =>
  removed.get(email) ?? new Map<ListId, number>()

/** A repeated word counts as new. What the person has said remains theirs if the operator says it too. */
export const say =
  ({ email, scope, by = 'person' }: Statement): Effect =>
  (model) => {
    const known = saidOf(model, email)
    const former = known.get(scope)
    model.clock += 1
    model.against.set(email, known.set(scope, { by: former?.by === 'person' ? 'person' : by, at: model.clock }))
  }

/** The operator takes an address off a list. */
export const remove =
  (email: string, listId: ListId): Effect =>
  (model) => {
    model.clock += 1
    model.removed.set(email, removedOf(model, email).set(listId, model.clock))
  }

/** Without the contact, the operator has removed nothing. */
export const erase =
  (email: string): Effect =>
  (model) =>
    void model.removed.delete(email)

/**
 * What the person said, and blocks, hold for another address too, from when they were said: a link that was mailed later
 * confirms.
 */
const share =
  (from: string, to: string): Effect =>
  (model) => {
    const known = saidOf(model, to)
    for (const [scope, { by, at }] of saidOf(model, from)) {
      const former = known.get(scope)
      if (scope === 'bounce' || (by === 'operator' && former)) continue
      known.set(scope, { by, at: Math.max(at, former?.at ?? 0) })
    }
    model.against.set(to, known)
  }

/** Someone says that the person wants mail from a list, which holds unless a suppression forbids it. */
export const agree =
  (email: string, listId: ListId): Effect =>
  ({ unasked, removed }) => {
    unasked.get(email)?.delete(listId)
    removed.get(email)?.delete(listId)
  }

interface Move {
  from: string
  to: string
  /** Whether the new address is asked: `confirmChangedAddress`. */
  isAsked: boolean
}

/** Without the question, the subscriptions continue as they are. */
export const move =
  ({ from, to, isAsked }: Move): Effect =>
  (model) => {
    share(from, to)(model)
    if (from === to) return
    model.removed.set(to, new Map(removedOf(model, from)))
    model.removed.delete(from)
    model.unasked.set(to, new Set(isAsked ? model.lists : model.unasked.get(from)))
  }

/** The remaining contact is mailable where either was, unless its address is asked. */
export const merge =
  ({ from, to, isAsked }: Move): Effect =>
  (model) => {
    share(from, to)(model)
    model.removed.set(to, new Map([...removedOf(model, from), ...removedOf(model, to)]))
    model.removed.delete(from)
    const open = [...(model.unasked.get(to) ?? [])]
    const isOpen = (listId: ListId) => isAsked || model.unasked.get(from)?.has(listId)
    model.unasked.set(to, new Set(open.filter(isOpen)))
  }

/** The person consents anew, by a link that was mailed when the clock was at `at`: a later word or removal stands. */
export const consent =
  ({ email, listId, at }: { email: string; listId: ListId; at: number }): Effect =>
  (model) => {
    const said = saidOf(model, email)
    const ofAll = said.get('all')
    const removedAt = removedOf(model, email).get(listId)
    agree(email, listId)(model)
    if (removedAt !== undefined && removedAt > at) removedOf(model, email).set(listId, removedAt)
    for (const scope of ['all', listId] as const) if ((said.get(scope)?.at ?? 0) <= at) said.delete(scope)
    if (!ofAll || ofAll.at > at) return
    for (const other of model.lists) if (other !== listId && !said.has(other)) said.set(other, ofAll)
  }

/** The person takes back that they left a list, which they had said when the clock was at `at`. */
export const undoByPerson =
  ({ email, listId, at }: { email: string; listId: ListId; at: number }): Effect =>
  (model) => {
    const isTheirs = (saidOf(model, email).get(listId)?.at ?? 0) <= at
    if (isTheirs) saidOf(model, email).delete(listId)
  }

/** The operator takes back what they said themselves. */
export const undo =
  (email: string, scope: Scope): Effect =>
  (model) => {
    if (saidOf(model, email).get(scope)?.by === 'operator') saidOf(model, email).delete(scope)
  }

/** The operator lifts bounces and blocks. */
export const lift =
  (email: string): Effect =>
  (model) => {
    for (const scope of ['bounce', 'block'] as const) saidOf(model, email).delete(scope)
  }

/** Whether a call was done is unknown, as its response was lost: nothing is known of its addresses until more is said. */
export const forget =
  (emails: readonly string[]): Effect =>
  ({ against, removed, unasked }) => {
    for (const email of emails) {
      against.delete(email)
      removed.delete(email)
      unasked.delete(email)
    }
  }

/** Returns the suppressions for these subscriptions. */
export const findBroken = (model: ConsentModel, mailable: readonly { email: string; listId: ListId }[]): string[] =>
  mailable.flatMap(({ email, listId }) => {
    const said = (['all', 'bounce', 'block', listId] as const).filter((scope) => saidOf(model, email).has(scope))
    const broken = [
      ...said,
      ...(model.unasked.get(email)?.has(listId) ? ['a question'] : []),
      ...(removedOf(model, email).has(listId) ? ['a removal'] : []),
    ]
    return broken.map((scope) => `${email} is mailable on ${listId} against ${scope}`)
  })
