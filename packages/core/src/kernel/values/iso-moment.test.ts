import { expect, test } from 'vitest'
import { normalizeMoment } from './iso-moment.ts'

test.each([
  ['2026-12-01T10:00:00z', '2026-12-01T10:00:00Z'],
  ['2026-12-01t10:00:00z', '2026-12-01T10:00:00Z'],
  ['2026-12-01T10:00:00+0000', '2026-12-01T10:00:00+00:00'],
  ['2026-12-01T10:00Z', '2026-12-01T10:00:00Z'],
  ['2026-12-01 10:00:00+00:00', '2026-12-01T10:00:00+00:00'],
  // PostgreSQL.
  ['2026-12-01 11:00:00.123456+01', '2026-12-01T11:00:00.123456+01:00'],
  // `java.time`: OffsetDateTime without seconds, and ZonedDateTime; `Temporal` of JavaScript.
  ['2026-12-01T10:00-05:30', '2026-12-01T10:00:00-05:30'],
  ['2026-12-01T11:00+01:00[Europe/Berlin]', '2026-12-01T11:00:00+01:00'],
  ['2026-12-01T10:00:00Z[UTC]', '2026-12-01T10:00:00Z'],
  // `strftime('%Y%m%dT%H%M%SZ')`, and Ruby's `Time#to_s`.
  ['20261201T100000Z', '2026-12-01T10:00:00Z'],
  ['20261201T1000+0130', '2026-12-01T10:00:00+01:30'],
  ['2026-12-01 10:00:00 +0100', '2026-12-01T10:00:00+01:00'],
  ['2026-12-01 10:00:00 UTC', '2026-12-01T10:00:00Z'],
  // ISO 8601: a comma before the fraction, and U+2212 as the minus.
  ['2026-12-01T10:00:00,5Z', '2026-12-01T10:00:00.5Z'],
  ['2026-12-01T10:00:00\u221203:00', '2026-12-01T10:00:00-03:00'],
])('%s is the moment %s', (printed, moment) => {
  expect(normalizeMoment(printed)).toBe(moment)
})

test.each([
  ['no offset', '2026-12-01T10:00:00', '2026-12-01 10:00'],
  ['no full time', '2026-12-01T10Z', '2026-12-01', '20261201'],
  ['an offset that may have been a plus sign', '2026-12-01T10:00:00 0100', '2026-12-01T10:00:00 01:00'],
  [
    'another order or name',
    '01.12.2026 10:00Z',
    'Tue, 01 Dec 2026 10:00:00 GMT',
    '2026-12-01T10:00:00 CET',
    '1764583200',
  ],
  ['too much', '2026-12-01T10:00:00ZZ', `2026-12-01T10:00:00.${'0'.repeat(200)}Z`, '2026-12-01T10:00:00Z[]'],
])('a text with %s is unchanged', (_what, ...texts) => {
  for (const text of texts) expect(normalizeMoment(text)).toBe(text)
})
