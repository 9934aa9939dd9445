import { expect, test } from 'vitest'
import { isUndeliverable } from './soft-bounces.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

const days = (...numbers: number[]) => numbers.map((day) => timestampAt(Date.UTC(2026, 0, 1 + day)))
const daily = (from: number, to: number) => days(...Array.from({ length: to - from + 1 }, (_, day) => from + day))

test.each([
  ['three of five weekly mails', days(14, 21, 28), days(0, 7, 14, 21, 28)],
  ['the first three mails', days(0, 7, 14), days(0, 7, 14)],
  ['three of five monthly mails', days(0, 60, 120), days(0, 30, 60, 90, 120)],
  ['every daily mail of a week', daily(20, 27), daily(0, 27)],
  ['three mails with no known campaign', days(0, 4, 8), []],
])('%s make an address undeliverable', (_name, bounced, mails) => {
  expect(isUndeliverable(bounced, mails)).toBe(true)
})

test.each([
  ['one bounce', days(0), days(0)],
  ['two bounces in a month', days(0, 30), days(0, 30)],
  ['three bounces in six days', days(0, 3, 6), days(0, 3, 6)],
  ['two of five weekly mails', days(21, 28), days(0, 7, 14, 21, 28)],
  ['three of six weekly mails', days(0, 21, 35), days(0, 7, 14, 21, 28, 35)],
  ['a bad week after a bounce in the month before', [...days(0), ...daily(30, 33)], daily(0, 33)],
  ['bounces of an hour', [0, 10, 20].map((minute) => timestampAt(minute * 60_000)), []],
  ['no bounce', [], daily(0, 30)],
])('%s does not', (_name, bounced, mails) => {
  expect(isUndeliverable(bounced, mails)).toBe(false)
})
