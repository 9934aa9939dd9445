/**
 * The response time does not reveal whether an email address is known, or whether a budget withholds a mail. This is the only test that depends on measured
 * time. It alternates between known and unknown addresses, so that load on the machine affects both series equally.
 */
import { defaultPasswordCost } from '@rapport/core/auth/passwords.ts'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { releaseVisitorMails } from '@rapport/core/mail/budget/release-visitor-mails.ts'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { mannWhitneyScore } from '@rapport/testing/mann-whitney.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { defaultTimings } from '../src/http/server/api-timings.ts'
import { type Json, startTestApi } from './testing.ts'

const pairs = countRuns({ gate: 30, full: 200 })
/** Fewer than 17 pairs cannot reach the score of `isSure`, however much they differ. */
const minPairs = Math.max(17, pairs / 4)
/** Equal series exceed this score once in a million times; two such scores in a row are no coincidence. */
const isSure = (score: number) => Math.abs(score) > 4.9
const { constantTimeStepMs: stepMs } = defaultTimings

const api = useForFile(() =>
  startTestApi({ timings: { constantTimeStepMs: stepMs }, settings: { passwordCost: defaultPasswordCost } }),
)
const workspace = useForFile(() => api.signUp())
/** A list of a workspace that has used up its budget for confirmations. The first workspace has none. */
const thrifty = useForFile(() => api.signUp())
let [list, thriftyList] = ['', '']
beforeAll(async () => {
  list = String((await api.create('/lists', workspace.key, { name: 'Newsletter' }))['id'])
  thriftyList = String((await api.create('/lists', thrifty.key, { name: 'Newsletter' }))['id'])
  const ctx = api.ctx(thrifty.id)
  await setQuotas(ctx, { confirmations: 1 })
  for (const email of freshAddresses().slice(0, 2)) await ask(withhold, { email, who: 'known' })
  await releaseVisitorMails(ctx)
})

let people = 0
const freshAddresses = () => Array.from({ length: 2 * pairs }, () => `unknown${(people += 1)}@example.com`)

type Who = 'known' | 'unknown'

interface Case {
  path: (who: Who) => string
  body: (email: string) => Json
  /** Makes the addresses known. */
  makeKnown: (emails: string[]) => Promise<unknown>
}

/** Adds members, each for one login, so that no login is throttled. All have the same password. */
const addUsers = (emails: string[]) =>
  api.query(
    `with made as (
       insert into users (id, email, password_hash)
       select uuidv7(), e, (select password_hash from users where email = $2) from unnest($1::text[]) e returning id)
     insert into members (workspace_id, user_id, role) select $3, id, 'VIEWER' from made`,
    [emails, workspace.email, uuidOf(Id('wsp').parse(workspace.id))],
  )

/** Adds contacts, with a subscription if a status is given. */
const addContacts = (status?: 'PENDING' | 'CONFIRMED') => (emails: string[]) =>
  api.query(
    `with made as (
       insert into contacts (workspace_id, id, email) select $2, uuidv7(), e from unnest($1::text[]) e returning id)
     insert into subscriptions (workspace_id, list_id, contact_id, status, own_status, own_status_at, source)
     select $2, $3, id, $4::text, case $4::text when 'PENDING' then 'PENDING' else 'CONFIRMED' end, now(), 'test' from made where $4::text is not null`,
    [emails, uuidOf(Id('wsp').parse(workspace.id)), uuidOf(Id('lst').parse(list)), status],
  )

const login = { path: () => '/auth/login', body: (email: string) => ({ email, password: 'a wrong password' }) }
const forgot = { path: () => '/auth/forgot-password', body: (email: string) => ({ email }) }
const subscribe = { path: () => `/public/lists/${list}/subscribe`, body: (email: string) => ({ email }) }
/** No address is known. Of each pair, one is for the workspace that has used up its budget. */
const withhold = {
  path: (who: Who) => `/public/lists/${who === 'known' ? thriftyList : list}/subscribe`,
  body: (email: string) => ({ email }),
  makeKnown: async () => {},
}

const ask = ({ path, body }: Case, { email, who }: { email: string; who: Who }) =>
  api.call('POST', path(who), { body: body(email) })

/** The response time in milliseconds. */
async function timeOf(of: Case, person: { email: string; who: Who }): Promise<number> {
  const startedAt = performance.now()
  await ask(of, person)
  return performance.now() - startedAt
}

/**
 * Returns the rank score of the response times for known and unknown addresses, measured in pairs in alternating order.
 * Skips a pair if the machine was too slow, so that a response took more than one step. Returns undefined if there are
 * too few pairs after 30 seconds.
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
    for (const who of order) took[who] = await timeOf(of, { email: address[who], who })
    // No response comes before the end of the step; the tolerance is for timers that fire early.
    expect(Math.min(took.known, took.unknown)).toBeGreaterThan(0.95 * stepMs)
    if (Math.max(took.known, took.unknown) > 1.5 * stepMs) continue
    for (const who of order) times[who].push(took[who])
  }
  return times.known.length < minPairs ? undefined : mannWhitneyScore(times.known, times.unknown)
}

async function expectEqualTimes(of: Case, skip: (note: string) => never): Promise<void> {
  const scores: number[] = []
  do {
    const score = await compare(of)
    if (score === undefined) return skip('The machine was too busy to measure anything on it')
    scores.push(score)
  } while (scores.length < 2 && scores.every(isSure))
  expect(scores.every(isSure), `rank scores ${scores.join(', ')}`).toBe(false)
}

const options = { timeout: 120_000, concurrent: true }

test.for<[string, Case]>([
  ['a login of a user', { ...login, makeKnown: addUsers }],
  ['a password reset of a user', { ...forgot, makeKnown: addUsers }],
  ['a subscribe request of a contact', { ...subscribe, makeKnown: addContacts() }],
  ['a subscribe request of a pending subscriber', { ...subscribe, makeKnown: addContacts('PENDING') }],
  ['a subscribe request of a confirmed subscriber', { ...subscribe, makeKnown: addContacts('CONFIRMED') }],
])('%s takes as long as for an unknown address', options, ([, of], { skip }) => expectEqualTimes(of, skip))

test('a sign-up whose mail is withheld has the body and time of one that is mailed', options, async ({ skip }) => {
  expect(await releaseVisitorMails(api.ctx(thrifty.id))).toMatchObject({ released: 0 })
  const [email = ''] = freshAddresses()
  const withheld = await ask(withhold, { email, who: 'known' })
  const mailed = await ask(withhold, { email, who: 'unknown' })
  expect([withheld.status, withheld.text]).toEqual([mailed.status, mailed.text])
  await expectEqualTimes(withhold, skip)
})
