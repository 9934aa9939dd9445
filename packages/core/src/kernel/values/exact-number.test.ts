import { expect, test } from 'vitest'
import { isExactNumber, isExactNumberText } from './exact-number.ts'

test.each([
  '0',
  '-0',
  '1e3',
  '0.1',
  '12.50',
  '9007199254740991',
  '-9007199254740991',
  '0.30000000000000004',
  '17976931348.623158',
  '007',
])('the number %s is exact', (text) => {
  expect([isExactNumberText(text), isExactNumber(Number(text))]).toEqual([true, true])
})

test.each([
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '9007199254740993.0',
  '1e20',
  '1e400',
  '1e308',
])('the number %s cannot be stored exactly', (text) => {
  expect([isExactNumberText(text), isExactNumber(Number(text))]).toEqual([false, Number(text) === Infinity])
})

test.each(['0.12345678901234567890', '123456789.123456789', '0.1000000000000000055', '1e-400', '1.23456789012e-320'])(
  'the decimals of %s do not survive, which only its text shows',
  (text) => {
    expect(isExactNumberText(text)).toBe(false)
  },
)
