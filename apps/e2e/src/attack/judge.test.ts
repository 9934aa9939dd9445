import { expect, test } from 'vitest'
import { judge } from './judge.ts'
import { judgeStatuses } from './judge-statuses.ts'
import { all, type Meaning, type PersonLog, type Request } from './log.ts'

const [a, b] = ['ada@a.example.com', 'ada@b.example.com']
const lists = ['A', 'B']

type Step = [from: number, to: number, meaning: Meaning, status?: number]

const createLog = (steps: readonly Step[]): PersonLog => ({
  name: 'ada',
  addresses: [a, b],
  observations: [],
  statuses: [],
  requests: steps.map(([sentAt, endedAt, meaning, status = 200]) => ({
    what: meaning.kind,
    verb: meaning.kind,
    sentAt,
    endedAt,
    status,
    means: [meaning],
  })),
})

/** Returns what forbids a mail at a moment, to the first address unless the other is named. */
function against(log: PersonLog, { at = 1_000, address = a, list = 'A' } = {}): string[] {
  const observations = [{ what: 'mail', address, list, at, notBefore: at }]
  return judge({ ...log, observations }, lists)
    .filter(({ answered }) => !answered)
    .map(({ no }) => no.reason)
}

const grant: Step = [1, 2, { kind: 'grant', list: 'A', address: a }]
const left = (from: number, to: number, scope = 'A'): Step => [
  from,
  to,
  { kind: 'no', scope, reason: 'OPTED_OUT', source: 'LINK', address: a },
]
const link = (from: number, to: number, mailedAt: number): Step => [
  from,
  to,
  { kind: 'link', list: 'A', address: a, mailedAt },
]

test('without a consent no mail may come', () => {
  expect(against(createLog([]))).toEqual(['GONE'])
  expect(against(createLog([grant]))).toEqual([])
  expect(against(createLog([grant]), { list: 'B' })).toEqual(['GONE'])
})

test('after an answered "no", no mail may come, and a caller changes nothing', () => {
  expect(against(createLog([grant, left(10, 20)]))).toEqual(['OPTED_OUT'])
  expect(against(createLog([grant, left(10, 20, all), [30, 40, grant[2]]]))).toEqual(['OPTED_OUT'])
  expect(against(createLog([grant, left(10, 20)]), { at: 15 })).toEqual([])
})

test('a "no" without a response is not held against a mail', () => {
  const lost: Step = [10, Infinity, left(0, 0)[2], 0]
  expect(against(createLog([grant, lost]))).toEqual([])
})

test('a link withdraws what was said before it was mailed', () => {
  expect(against(createLog([grant, left(10, 20, all), link(40, 50, 30)]))).toEqual([])
  expect(against(createLog([grant, left(10, 20, all), link(40, 50, 30)]), { list: 'B' })).toEqual(['GONE', 'OPTED_OUT'])
  expect(against(createLog([grant, left(10, 20), link(15, 50, 12)]))).toEqual([])
})

test('a link that confirms against a later "no" is wrong, and what follows is not', () => {
  const log = createLog([grant, left(10, 20), left(40, 45), link(50, 60, 30)])
  expect(judge(log, lists)).toMatchObject([{ answered: { verb: 'link' }, no: { sentAt: 40 } }])
  expect(against(log)).toEqual([])
})

test('an undo withdraws its own word alone', () => {
  const log = createLog([grant, left(10, 20)])
  const of = log.requests[1] as Request
  const [undone] = createLog([[30, 40, { kind: 'undo', list: 'A', address: a, of }]]).requests as [Request]
  const again = createLog([left(22, 25)]).requests
  expect(judge({ ...log, requests: [...log.requests, undone] }, lists)).toEqual([])
  expect(judge({ ...log, requests: [...log.requests, ...again, undone] }, lists)).toMatchObject([
    { no: { sentAt: 22 } },
  ])
})

test('what persons said moves to the next address, a bounce stays, and a consent moves', () => {
  const contact: Step = [3, 4, { kind: 'contact', contactId: 'con_1', address: a }]
  const move: Step = [30, 40, { kind: 'move', contactId: 'con_1', from: a, to: b }]
  const bounce: Step = [10, 20, { kind: 'no', scope: all, reason: 'BOUNCED', source: 'API', address: a }]
  expect(against(createLog([grant, contact, left(10, 20), move]), { address: b })).toEqual(['OPTED_OUT'])
  expect(against(createLog([grant, contact, bounce, move]), { address: b })).toEqual([])
  expect(against(createLog([grant, contact, move]))).toEqual(['GONE'])
  const later: Step = [50, 60, { kind: 'no', scope: 'A', reason: 'OPTED_OUT', source: 'API', contactId: 'con_1' }]
  expect(against(createLog([grant, contact, move, later]), { address: b })).toEqual(['OPTED_OUT'])
})

test('an operator undoes their own opt-out, and lifts bounces and blocks', () => {
  const optOut: Step = [10, 20, { kind: 'no', scope: all, reason: 'OPTED_OUT', source: 'API', address: a }]
  const undo: Step = [30, 40, { kind: 'operatorUndo', scope: all, address: a }]
  const block: Step = [10, 20, { kind: 'no', scope: all, reason: 'MANUAL', source: 'API', address: a }]
  expect(against(createLog([grant, optOut, undo]))).toEqual([])
  expect(against(createLog([grant, left(10, 20, all), undo]))).toEqual(['OPTED_OUT'])
  expect(against(createLog([grant, block]))).toEqual(['MANUAL'])
  expect(against(createLog([grant, block, [30, 40, { kind: 'lift', address: a }]]))).toEqual([])
})

test('a contact that comes to an address it had left keeps what a link can confirm', () => {
  const contact: Step = [3, 4, { kind: 'contact', contactId: 'con_1', address: a }]
  const away: Step = [30, 40, { kind: 'move', contactId: 'con_1', from: a, to: b }]
  const back: Step = [50, 60, { kind: 'move', contactId: 'con_1', from: b, to: a }]
  const moved = [contact, away, back]
  expect(judge(createLog([...moved, link(70, 80, 20)]), lists)).toEqual([])
  expect(judge(createLog([contact, away, link(70, 80, 20)]), lists)).toMatchObject([{ no: { reason: 'GONE' } }])
  const erased: Step = [50, 60, { kind: 'erasure', contactId: 'con_1' }]
  expect(judge(createLog([contact, erased, link(70, 80, 20)]), lists)).toMatchObject([{ no: { reason: 'GONE' } }])
  expect(against(createLog(moved))).toEqual(['GONE'])
})

test('a link of an erased contact says nothing of an address that it had', () => {
  const merge: Step = [3, 4, { kind: 'merge', contactId: 'con_1', duplicateId: 'con_2', from: b, to: a }]
  const erased: Step = [5, 6, { kind: 'erasure', contactId: 'con_1' }]
  const stop: Step = [20, 30, { ...left(0, 0)[2], kind: 'no', address: b, contactId: 'con_2' } as Meaning]
  const returned = link(40, 50, 15)
  expect(judge(createLog([grant, merge, stop, returned]), lists)).toMatchObject([{ no: { reason: 'OPTED_OUT' } }])
  expect(judge(createLog([grant, merge, erased, stop, returned]), lists)).toEqual([])
})

/** Returns why a status is wrong that is shown at the end. */
const judgeStatus = (status: string, steps: readonly Step[]) =>
  judgeStatuses({ ...createLog(steps), statuses: [{ address: a, list: 'A', status }] }).map(({ why }) => why)

test('a status needs a request that may have caused it', () => {
  const withoutResponse: Step = [10, Infinity, left(0, 0)[2], 0]
  const ask: Step = [1, 2, { kind: 'ask', list: 'A', address: a }]
  const complaint: Step = [1, 2, { kind: 'no', scope: all, reason: 'COMPLAINED', source: 'API', address: b }]
  for (const [status, step] of [
    ['PENDING', ask],
    ['CONFIRMED', grant],
    ['UNSUBSCRIBED', withoutResponse],
    ['UNSUBSCRIBED', complaint],
    ['COMPLAINED', complaint],
  ] as const) {
    expect(judgeStatus(status, [step])).toEqual([])
    expect(judgeStatus(status, [[1, 2, step[2], 409]])).toEqual(['nothing has caused it'])
  }
  expect(judgeStatus('UNSUBSCRIBED', [left(1, 2, 'B')])).toEqual(['nothing has caused it'])
})

test('a consent that nothing has ended is CONFIRMED', () => {
  const returned = [left(1, 10), link(20, 30, 15)]
  expect(judgeStatus('UNSUBSCRIBED', returned)).toEqual(['nothing has ended the consent'])
  expect(judgeStatus('UNSUBSCRIBED', [...returned, left(25, 40)])).toEqual([])
  expect(judgeStatus('UNSUBSCRIBED', [left(1, 10), [20, 30, link(0, 0, 15)[2], 400]])).toEqual([])
})
