import { randomUUID } from 'node:crypto'
import { fromUUID } from 'typeid-js'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type ContactId,
  type DealId,
  type EventId,
  Id,
  idOf,
  newId,
  RecordId,
  type UserId,
  uuidOf,
  type WebhookId,
} from './ids.ts'

test('an id is a prefix and a UUIDv7, and converts to a UUID and back', () => {
  const id = newId('con')
  expect(id).toMatch(/^con_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
  expect(uuidOf(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(idOf('con', uuidOf(id))).toBe(id)
  expect(Id('con').parse(id)).toBe(id)
})

test('the smallest and the largest UUID, and UUIDs of any version, have ids', () => {
  for (const uuid of [
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    'ad2b9c3e-1f5a-4b6c-8d7e-0f1a2b3c4d5e',
  ]) {
    expect(uuidOf(idOf('lst', uuid))).toBe(uuid)
    expect(Id('lst').safeParse(idOf('lst', uuid)).success).toBe(true)
  }
})

test('ids equal those of the TypeID library', () => {
  for (let count = 0; count < 1_000; count++) {
    const uuid = randomUUID()
    expect(idOf('con', uuid)).toBe(fromUUID(uuid, 'con'))
  }
})

test('ids sort by creation time', async () => {
  const ids: EventId[] = []
  for (let turn = 0; turn < 5; turn++) {
    ids.push(newId('evt'))
    const startedAt = Date.now()
    while (Date.now() === startedAt) await new Promise(setImmediate)
  }
  expect(ids.toSorted()).toEqual(ids)
  expect(ids.map(uuidOf).toSorted()).toEqual(ids.map(uuidOf))
})

const good = newId('con')
const suffix = good.slice(4)

test.each(
  [
    ['', 'con', 'con_', suffix, `_${suffix}`, `lst_${suffix}`, `CON_${suffix}`, `con_${suffix.toUpperCase()}`],
    [`con-${suffix}`, `con__${suffix}`, `con_con_${suffix}`, `${good}0`, good.slice(0, -1), ` ${good}`, `${good} `],
    [`con_8${suffix.slice(1)}`, `con_z${suffix.slice(1)}`, `con_${'i'.repeat(26)}`, `con_${'l'.repeat(26)}`],
    [`con_${'o'.repeat(26)}`, `con_${'u'.repeat(26)}`, `con_${'é'.repeat(26)}`, `con_${'%'.repeat(26)}`],
    // Well-formed, but not a UUID: the version is 0, or the variant is not defined.
    [`con_${'0'.repeat(25)}f`, `con_7${'0'.repeat(25)}`, `con_01kag7m3v9${'0'.repeat(16)}`],
    [uuidOf(good), `{${uuidOf(good)}}`, 'null', 'undefined', '[object Object]', '__proto__', "' or 1=1 --", '../..'],
    [`${good}\u0000`, `${good}\n`, '\u0000', 'con_\ud800', 'x'.repeat(5000), `con_${'0'.repeat(5000)}`, '0', '-1'],
  ].flat(),
)('"%s" is not the id of a contact', (wrong) => {
  const result = Id('con').safeParse(wrong)
  expect(result.success).toBe(false)
})

test.each([undefined, null, 1, {}, [], [good], true])('%j is not an id', (wrong) => {
  expect(Id('con').safeParse(wrong).success).toBe(false)
})

test('the error of a malformed id equals that of an id that does not exist', () => {
  expect(
    Id('pip')
      .safeParse('nonsense')
      .error?.issues.map(({ message }) => message),
  ).toEqual(['Pipeline not found'])
  expect(
    Id('pip')
      .safeParse('x'.repeat(5000))
      .error?.issues.map(({ message }) => message),
  ).toEqual(['Pipeline not found'])
})

test('the id of another kind of record, or a plain string, does not compile', () => {
  expectTypeOf<WebhookId>().toExtend<string>()
  expectTypeOf<string>().not.toExtend<WebhookId>()
  expectTypeOf<UserId>().not.toExtend<WebhookId>()
  expectTypeOf<string>().not.toExtend<DealId>()
  expectTypeOf<ContactId>().not.toExtend<DealId>()

  const userId = newId('usr')
  const useWebhook = (id: WebhookId) => id
  // @ts-expect-error: the id of a user
  useWebhook(userId)
  // @ts-expect-error: a UUID
  useWebhook(uuidOf(userId))
  useWebhook(idOf('whk', uuidOf(userId)))
})

test('id schemas have the branded type, and RecordId accepts any string', () => {
  expectTypeOf(Id('whk').parse(newId('whk'))).toEqualTypeOf<WebhookId>()
  expectTypeOf(RecordId('whk').parse(newId('whk'))).toEqualTypeOf<WebhookId>()
  expect(z.toJSONSchema(RecordId('whk'))).toEqual(z.toJSONSchema(z.string().describe('The id of the webhook.')))
  expect(RecordId('whk').safeParse('any text').success).toBe(true)
  expect(RecordId('whk').safeParse(1).success).toBe(false)
})
