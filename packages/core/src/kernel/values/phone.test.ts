import { expect, test } from 'vitest'
import { Phone } from './phone.ts'

test.each([
  ['\u202a+44 20 7946 0958\u202c', '+44 20 7946 0958'],
  ['\u202d+44\u00a020\u20097946\u202f0958\u202e', '+44 20 7946 0958'],
  ['+44 20 7946\u20110958', '+44 20 7946-0958'],
  ['+49\u201330\u2014123\u2212456', '+49-30-123-456'],
  ['＋４４　２０ ７９４６', '+44 20 7946'],
  ['٠١٢٣٤٥٦٧٨٩', '0123456789'],
  ['(030)\u200b 901820', '(030) 901820'],
  ['tel:+44-20-7946-0958;ext=12', '+44-20-7946-0958;ext=12'],
  ['+1 212 555 0100 ext. 12', '+1 212 555 0100 ext. 12'],
  ['+1 212 555 0100, Ext 12', '+1 212 555 0100, Ext 12'],
  ['212-555-0100x12', '212-555-0100x12'],
  ['030 901820 Durchwahl 12', '030 901820 Durchwahl 12'],
  ['030 123 (ext. 12)', '030 123 (ext. 12)'],
  ['१२३ ٤٥٦ ۷۸۹ 𝟏', '123 456 789 1'],
  ['020\u2009\u202f7946', '020 7946'],
  ['020·123', '020·123'],
  ['*21#', '*21#'],
  ['  ', ''],
])('the phone number %j is stored as %j', (text, stored) => {
  expect(Phone.parse(text)).toBe(stored)
  expect(Phone.parse(stored)).toBe(stored)
})

test.each(['secret', '020 ²', '①', '12 call me', 'ext 12', '+', '1\n2', '1'.repeat(41)])(
  '%j is not a phone number',
  (text) => {
    expect(Phone.safeParse(text).success).toBe(false)
  },
)
