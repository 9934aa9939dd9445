import { expect, test } from 'vitest'
import { ExternalId } from './external-id.ts'

test.each(['0', '0049', '=1', "o'neil", 'a b', 'ID/ä-ß.ü', '用户', '🙂', 'e\u0301', 'null', 'x'.repeat(255)])(
  'keeps %s as it is',
  (id) => {
    expect(ExternalId.parse(id)).toBe(id)
  },
)

const unprintable = 'must contain only printable characters'
test.each([
  ['', 'must not be empty'],
  ['x'.repeat(256), 'must have at most 255 characters'],
  [' x', 'must not begin or end with a space'],
  ['x ', 'must not begin or end with a space'],
  ...['\0', '\n', '\t', '\u007f', '\u0085', '\u00a0', '\u00ad', '\u200b', '\u202e', '\u2028', '\ufeff', '\ud800'].map(
    (character) => [`x${character}y`, unprintable],
  ),
])('rejects %j', (id, message) => {
  expect(ExternalId.safeParse(id).error?.issues).toMatchObject([{ message }])
})
