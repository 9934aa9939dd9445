/**
 * How long an answer takes tells nothing of whether an address is known. The one test that judges by measured time: two
 * series of which neither is larger, however noisy the machine, as both are taken in turn.
 */
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { mannWhitneyScore } from '@rapport/testing/mann-whitney.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { type Json, startTestApi } from './testing.ts'

const pairs = 200
/** Beyond it two series alike are once in a million times; two such findings in a row are no chance. */
const isSure = (score: number) => Math.abs(score) > 4.9
const stepMs = 50

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let list = ''
beforeAll(async () => {
  list = String((await api.create('/lists', workspace.key, { name: 'Letter' }))['id'])
})

let people = 0
const freshAddresses = () => Array.from({ length: 2 * pairs }, () => `stranger${(people += 1)}@example.com`)

interface Case {
  path: () => string
  body: (email: string) => Json
  /** Makes the addresses known. */
  makeKnown: (emails: string[]) => Promise<unknown>
}

/** Members with somebody's password, each to be asked once: nobody has to wait for too many failures. */
const addUsers = (emails: string[]) =>
  api.query(
    `with made as (
       insert into users (id, email, password_hash)
       select uuidv7(), e, (select password_hash from users where email = $2) from unnest($1::text[]) e returning id)
     insert into members (workspace_id, user_id, role) select $3, id, 'VIEWER' from made`,
    [emails, workspace.email, uuidOf(Id('wsp').parse(workspace.id))],
  )

/** Contacts, with a subscription where a status is given. */
const addContacts = (status?: 'PENDING' | 'CONFIRMED') => (emails: string[]) =>
  api.query(
    `with made as (
       insert into contacts (workspace_id, id, email) select $2, uuidv7(), e from unnest($1::text[]) e returning id)
     insert into subscriptions (workspace_id, list_id, contact_id, status, source, confirmations_requested_at)
     select $2, $3, id, $4::text, 'test', array[now()] from made where $4::text is not null`,
    [emails, uuidOf(Id('wsp').parse(workspace.id)), uuidOf(Id('lst').parse(list)), status],
  )

const login = { path: () => '/auth/login', body: (email: string) => ({ email, password: 'not theirs, by no means' }) }
const forgot = { path: () => '/auth/forgot-password', body: (email: string) => ({ email }) }
const subscribe = { path: () => `/public/lists/${list}/subscribe`, body: (email: string) => ({ email }) }

/** How long the answer takes, in milliseconds. */
async function timeOf({ path, body }: Case, email: string): Promise<number> {
  const startedAt = performance.now()
  await api.call('POST', path(), { body: body(email) })
  return performance.now() - startedAt
}

/**
 * The rank score of known against unknown addresses, asked in turn, now the one first and now the other. A pair in which
 * the machine did not keep up, so that an answer took more steps than one, is asked again of others; undefined when it
 * hardly ever did within half a minute.
 */
async function compare(of: Case): Promise<number | undefined> {
  const [known, unknown] = [freshAddresses(), freshAddresses()]
  await of.makeKnown(known)
  const times: { known: number[]; unknown: number[] } = { known: [], unknown: [] }
  const endsAt = performance.now() + 30_000
  for (let index = 0; times.known.length < pairs; index++) {
    if (performance.now() > endsAt || index === known.length) break
    const order = index % 2 === 0 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)
    const address = { known: known[index] ?? '', unknown: unknown[index] ?? '' }
    const took = { known: 0, unknown: 0 }
    for (const who of order) took[who] = await timeOf(of, address[who])
    // However quick the work: nothing is answered before its step is full, but for the moment that a timer rings early.
    expect(Math.min(took.known, took.unknown)).toBeGreaterThan(0.95 * stepMs)
    if (Math.max(took.known, took.unknown) > 1.5 * stepMs) continue
    for (const who of order) times[who].push(took[who])
  }
  return times.known.length < pairs / 4 ? undefined : mannWhitneyScore(times.known, times.unknown)
}

test.for<[string, Case]>([
  ['a log-in of who has an account', { ...login, makeKnown: addUsers }],
  ['a forgotten password of who has an account', { ...forgot, makeKnown: addUsers }],
  ['a subscription of a known contact', { ...subscribe, makeKnown: addContacts() }],
  ['a subscription of who is to confirm already', { ...subscribe, makeKnown: addContacts('PENDING') }],
  ['a subscription of who is subscribed already', { ...subscribe, makeKnown: addContacts('CONFIRMED') }],
])('%s takes as long as that of a stranger', { timeout: 120_000, concurrent: true }, async ([, of], { skip }) => {
  const scores: number[] = []
  do {
    const score = await compare(of)
    if (score === undefined) return skip('The machine was too busy to measure anything on it')
    scores.push(score)
  } while (scores.length < 2 && scores.every(isSure))
  expect(scores.every(isSure), `rank scores ${scores.join(', ')}`).toBe(false)
})
