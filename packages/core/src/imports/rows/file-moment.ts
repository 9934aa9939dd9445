/** Moments as other systems write them. A moment without a time zone is in UTC. */

/** `2026-11-21`, `2026/11/21`, `2026-11-21 06:35:49.123456 +0100 CET` (Go), `…+00` (PostgreSQL), ISO 8601. */
const yearFirst = /^(?<year>\d{4})[-/.](?<month>\d{1,2})[-/.](?<day>\d{1,2})(?:[T ]+(?<time>\S.*))?$/i
/** `21-11-2026` or `21.11.2026`, in this order. With slashes, it could also be a month first. */
const dayFirst = /^(?<day>\d{1,2})[-.](?<month>\d{1,2})[-.](?<year>\d{4})(?: +(?<time>\S.*))?$/
const timeOfDay =
  /^(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d{1,9}))?)? ?(?:Z|UTC|GMT|(?<offset>[+-]\d{2}(?::?\d{2})?)(?: [A-Z]{3,5}| [+-]\d{2,4})?)?$/i

/** Returns undefined if the text is no moment, or can be read in two ways. */
export function parseMoment(text: string): Date | undefined {
  const trimmed = text.trim()
  const date = (yearFirst.exec(trimmed) ?? dayFirst.exec(trimmed))?.groups
  if (!date) return undefined
  const time = date['time'] === undefined ? {} : timeOfDay.exec(date['time'])?.groups
  if (!time) return undefined
  const [year, month, day] = [date['year'], date['month'], date['day']].map(Number) as [number, number, number]
  const [hour, minute, second] = [time['hour'], time['minute'], time['second']].map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
  ]
  const milliseconds = Number((time['fraction'] ?? '').slice(0, 3).padEnd(3, '0'))
  const moment = new Date(Date.UTC(year, month - 1, day, hour, minute, second, milliseconds))
  // Date.UTC accepts February 30, and reads the years before 100 as 19xx.
  const isExact = moment.getUTCFullYear() === year && moment.getUTCMonth() === month - 1 && moment.getUTCDate() === day
  if (!isExact || hour > 23 || minute > 59 || second > 59) return undefined
  return new Date(moment.getTime() - toMinutes(time['offset']) * 60_000)
}

function toMinutes(offset: string | undefined): number {
  if (offset === undefined) return 0
  const digits = offset.replace(':', '').slice(1).padEnd(4, '0')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))
  return offset.startsWith('-') ? -minutes : minutes
}
