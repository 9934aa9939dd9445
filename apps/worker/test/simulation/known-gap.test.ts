import { expect, test } from 'vitest'
import { findUnexplained } from './known-gap.ts'
import type { TraceEntry } from './tasks.ts'

const process = { name: 'worker-1', isDead: false, isFrozen: false, connections: new Set<never>() }
const claim = `update "mails" set "status" = $1, "attempts" = "mails"."attempts" + 1`
const undo = `update "mails" set "status" = $1, "attempts" = "mails"."attempts" - 1`
const [one, other] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']

function toEntry(what: string, part: Partial<TraceEntry> & { uuid?: string; sentAs?: TraceEntry } = {}): TraceEntry {
  const { uuid = one, sentAs, ...row } = part
  const statement = { process, uuids: [uuid], ...(sentAs && { sentAs }) }
  return { who: 'worker-1 mail 1', what, outcome: 'passes', result: '1 rows', statement, ...row }
}

const sentUndo = toEntry(undo, { outcome: 'late', result: '' })
const lateUndo = toEntry(undo, { outcome: 'arrives late', sentAs: sentUndo })
const sentTwice = { text: 'test@example.com got 2 mails', uuid: one }

test('a mail is sent twice if a late undo releases a later claim: this is known', () => {
  expect(findUnexplained([sentTwice], [toEntry(claim), sentUndo, toEntry(claim), lateUndo])).toEqual([])
})

test('the known gap explains no other mail, and no other promise', () => {
  const trace = [toEntry(claim), sentUndo, toEntry(claim), lateUndo]
  const broken = [
    { ...sentTwice, uuid: other },
    { text: 'test@example.com is PENDING', uuid: one },
    { text: 'a claim is left: mail' },
  ]
  expect(findUnexplained(broken, trace)).toEqual(broken)
})

test.each([
  ['no claim is later', [toEntry(claim), sentUndo, lateUndo]],
  ['the later claim is of another mail', [sentUndo, toEntry(claim, { uuid: other }), lateUndo]],
  ['the later claim found nothing', [sentUndo, toEntry(claim, { result: '0 rows' }), lateUndo]],
  ['the undo found nothing', [sentUndo, toEntry(claim), { ...lateUndo, result: '0 rows' }]],
  ['the undo was not late', [toEntry(claim), toEntry(undo), toEntry(claim)]],
])('a mail that is sent twice is a fault if %s', (_case, trace) => {
  expect(findUnexplained([sentTwice], trace)).toEqual([sentTwice])
})
