import { expect, test } from 'vitest'
import { newId } from '../kernel/ids.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'
import type { Ctx } from '../request/context.ts'
import type { ConsentRecords } from './consent-records.ts'
import type { SubscriptionState } from './derive-status.ts'
import { restoreLostRows } from './lost-rows.ts'
import type { SuppressionRow } from './suppression-rows.ts'

const at = timestampAt('2026-01-01')
const workspaceId = newId('wsp')
const listId = newId('lst')

class CountedMap<Value> extends Map<string, Value> {
  reads = 0
  override values() {
    this.reads += 1
    return super.values()
  }
}

/** Contacts that have left the list. Of the first ones, the row is lost. */
function createRecords(count: number, lost: number) {
  const contacts = Array.from({ length: count }, (_, index) => ({ id: newId('con'), email: `${index}@example.com` }))
  const rows = new CountedMap<SuppressionRow>(
    contacts.slice(lost).map(({ email }) => [
      email,
      {
        workspaceId,
        id: newId('sup'),
        emailHash: email,
        listId,
        reason: 'OPTED_OUT',
        source: 'LINK',
        actorId: null,
        note: null,
        createdAt: at,
        firstSaidAt: at,
        saidAt: at,
        undoableUntil: null,
        contactId: null,
      },
    ]),
  )
  const left = { status: 'UNSUBSCRIBED', unsubscribedAt: at, ownStatus: 'CONFIRMED', ownStatusAt: at } as const
  const rest = { workspaceId, listId, source: null, confirmedAt: null, consent: null, createdAt: at }
  const subscriptions = new CountedMap<SubscriptionState>(
    contacts.map(({ id }) => [`${id} ${listId}`, { ...rest, ...left, contactId: id }]),
  )
  const hashOf = (email: string) => email
  const records: ConsentRecords = {
    startedAt: at,
    now: at,
    mode: 'exclusive',
    contacts,
    hashOf,
    rows,
    subscriptions,
    stored: { rows: new Map(), subscriptions },
  }
  return { records, rows, subscriptions }
}

test('the lost rows of thousands of contacts are restored in one pass', () => {
  const { records, rows, subscriptions } = createRecords(5_000, 2)
  restoreLostRows({ workspaceId } as Ctx, records)
  expect(rows.size).toBe(5_000)
  expect([rows.reads, subscriptions.reads]).toEqual([1, 1])
})
