import { expect, test } from 'vitest'
import { findRepeatedKey } from './repeated-key.ts'

test.each([
  ['{"a":1,"b":{"a":1}}', undefined],
  ['[{"a":1},{"a":1}]', undefined],
  ['{"a":"\\",\\"a\\":1"}', undefined],
  ['{"a":"\\": {","b":"x\\":"}', undefined],
  ['{"a":1,"\\u0061" : 2}', 'a'],
  ['{"filter":{"tags":{"has":"vip","has":"pro"}}}', 'filter.tags.has'],
  ['{"all":[1,{"x":[2,3]},{"b":1,"c":",","b":1}]}', 'all.2.b'],
  ['{"a":{"x":1,"x":2},"a":1}', 'a.x'],
  ['"text"', undefined],
])('the key that stands twice in %s', (text, path) => {
  expect(findRepeatedKey(text, JSON.parse(text))).toBe(path)
})
