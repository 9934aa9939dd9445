import { expect, test } from 'vitest'
import { describeError } from './describe-error.ts'

test('a defect is described with its cause', () => {
  const cause = new Error('integer out of range')
  expect(describeError(new Error('Failed query: select 1', { cause }))).toMatch(
    /^Error: Failed query[^]*integer out of/,
  )
})
