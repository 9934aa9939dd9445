/** Moments as other systems write them, if they can be read in one way only. Without a time zone, they are in UTC. */
import { languages } from '../../kernel/values/languages.ts'

const toName = (text: string) => text.toLowerCase().replaceAll('.', '').trim()

/** The names and abbreviations of weekdays or months in the languages of Rapport, in lower case, with their numbers. */
const listNames = (part: 'weekday' | 'month', days: readonly number[]) =>
  languages.flatMap((language) =>
    (['long', 'short'] as const).flatMap((style) => {
      const format = new Intl.DateTimeFormat(language, { [part]: style, timeZone: 'UTC' })
      return days.map((day, index) => [toName(format.format(day)), index + 1] as const)
    }),
  )
const range = (length: number) => [...Array(length).keys()]
const months = new Map(
  listNames(
    'month',
    range(12).map((index) => Date.UTC(2026, index)),
  ),
)
/** Longest first. */
const weekdays = [
  ...new Map(
    listNames(
      'weekday',
      range(7).map((day) => Date.UTC(2026, 5, day + 1)),
    ),
  ).keys(),
].toSorted((one, other) => other.length - one.length)

const separator = String.raw`(?:,? +(?:(?:at|um|à|a las|alle(?: ore)?|às) +)?|T)`
const time = String.raw`(?:${separator}(?<time>\d\S*.*))?$`
const month = String.raw`(?<name>\p{L}{3,10})\.?`
/** Any other word before a date may be `until` or `declined on`. */
const weekday = String.raw`(?:(?:${weekdays.join('|')})\.?,? +)?(?:(?:le|el|il|am|den|the|on) +)?`
const dates = [
  // `2026-11-21`, `2026/11/21`, `2026-11-21 06:35:49.123456 +0100 CET` (Go), `…+00` (PostgreSQL), ISO 8601.
  String.raw`^(?<year>\d{4})[-/.](?<month>\d{1,2})[-/.](?<day>\d{1,2})`,
  // `21-11-2026` or `21.11.2026`, in this order.
  String.raw`^(?<day>\d{1,2})[-.](?<month>\d{1,2})[-.](?<year>\d{4})`,
  // `11/21/2026` or `21/11/2026`, if one of the two can only be the day.
  String.raw`^(?<one>\d{1,2})/(?<other>\d{1,2})/(?<year>\d{4})`,
  // `Tue, 18 Apr 2016` (RFC 5322), `18. April 2016`, `18-Apr-2016`, `18 de abril de 2016`.
  String.raw`^${weekday}(?<day>\d{1,2})(?:\.|st|nd|rd|th|er|º)?[ -](?:de )?${month}[ -](?:de )?(?<year>\d{4})`,
  // `April 18, 2016`, `Mon Apr 18 2016`.
  String.raw`^${weekday}${month} +(?<day>\d{1,2})(?:st|nd|rd|th)?,? +(?<year>\d{4})`,
  // `Fri Oct 21 11:02:55 UTC 2011`, as C, date(1), Ruby and Java print it.
  String.raw`^${weekday}${month} +(?<day>\d{1,2}) (?<clock>\d\d?:\d\d(?::\d\d)?(?: [A-Z]{3,4}| [+-]\d{4})?) (?<year>\d{4})`,
  // `20260421T063549Z`.
  String.raw`^(?<year>\d{4})(?<month>\d{2})(?<day>\d{2})(?=T\d{4})`,
].map((date) => new RegExp(date + time, 'iu'))
const timeOfDay =
  /^(?<hour>\d{1,2})(?:[:.h]?(?<minute>\d{2})(?:[:.]?(?<second>\d{2})(?:[.,](?<fraction>\d{1,9}))?)?)? ?(?<half>[ap]\.?m\.?)?(?: Uhr)? ?\(?(?<zone>Z|UTC?|GMT|[ECMP][SD]T|CES?T)?\)?(?:(?<offset>[+-]\d{2}(?::?\d{2})?)(?: ?\(?[A-Z][A-Za-z ]{2,40}\)?| [+-]\d{2,4})?)?(?:\[[A-Za-z_/+-]{2,40}\])?$/i

/** The zones of RFC 5322 and of Central Europe, in hours. Others have several meanings. */
const zones = new Map(
  Object.entries({ EST: -5, EDT: -4, CST: -6, CDT: -5, MST: -7, MDT: -6, PST: -8, PDT: -7, CET: 1, CEST: 2 }),
)

/** Seconds, milliseconds (also of .NET, in `/Date()/`) or microseconds since 1970, after 2001. */
const epoch = /^(?<seconds>1\d{9})(?:\.\d+)?$|^(?:\/Date\()?(?<milliseconds>1\d{12})(?:\d{3}|[+-]\d{4})?(?:\)\/)?$/
/**
 * How programs write a date that is not known: MySQL as zeros, PHP as the day before them, Go and .NET as the first day of
 * the year 1, spreadsheets as their day 0.
 */
const zero =
  /^(?:[\s:.,/TZ+-]*0[0\s:.,/TZ+-]*|(?:-0001[-/]11[-/]30|0001[-/]01[-/]01|0?1[./]0?1[./]0001|30[./]11[./]-0001|1899[-/]12[-/]30|1900[-/]01[-/]00)(?:[ T](?:00:|12:00:00 AM)[0\s:.,TZUCAMPM+-]*)?)$/i

/** Whether the text is such a date, which means none. */
export const isZeroDate = (text: string) => zero.test(text)

/** Returns undefined if the text is no moment, or can be read in two ways. */
export const parseMoment = (text: string): Date | undefined => read(text)?.moment

/** The day of a moment as it is written, such as `1990-05-12`, whatever its time zone. */
export const parseDate = (text: string): string | undefined => read(text)?.day.toISOString().slice(0, 10)

function read(text: string): { moment: Date; day: Date } | undefined {
  const trimmed = text.trim().replaceAll(/[\s\u202f\u00a0]+/g, ' ')
  // No moment is written without a digit, and most values are none.
  if (!/\d/.test(trimmed)) return undefined
  const { seconds, milliseconds } = epoch.exec(trimmed)?.groups ?? {}
  if (seconds ?? milliseconds) {
    const moment = new Date(Number(milliseconds ?? Number(seconds) * 1_000))
    return { moment, day: moment }
  }
  for (const pattern of dates) {
    const groups = pattern.exec(trimmed)?.groups
    const date = groups && readDate(groups)
    if (!groups || date === undefined) continue
    const moment = addTime(date, groups['time'] ?? groups['clock'])
    return moment && { moment, day: new Date(date) }
  }
  return undefined
}

type Groups = Readonly<Record<string, string | undefined>>

function readDate({ year, month, name, day, one, other }: Groups): number | undefined {
  const pair = [Number(one), Number(other)].toSorted((a, b) => a - b) as [number, number]
  const isSlashed = one !== undefined
  if (isSlashed && pair[1] <= 12 && pair[0] !== pair[1]) return undefined
  const monthOfYear = isSlashed ? pair[0] : name === undefined ? Number(month) : months.get(toName(name))
  if (monthOfYear === undefined) return undefined
  const numbers = [Number(year), monthOfYear - 1, isSlashed ? pair[1] : Number(day)] as const
  const moment = new Date(Date.UTC(...numbers))
  // Date.UTC accepts February 30, and reads the years before 100 as 19xx.
  const shown = [moment.getUTCFullYear(), moment.getUTCMonth(), moment.getUTCDate()]
  return shown.every((number, index) => number === numbers[index]) ? moment.getTime() : undefined
}

function addTime(date: number, text: string | undefined): Date | undefined {
  if (text === undefined) return new Date(date)
  const groups: Groups | undefined = timeOfDay.exec(text)?.groups
  // A number alone is no time, and 13 PM is none either.
  if (!groups || (groups['minute'] === undefined && groups['half'] === undefined)) return undefined
  const numberOf = (part: string) => Number(groups[part] ?? 0)
  const [given, minute, second] = [numberOf('hour'), numberOf('minute'), numberOf('second')]
  const half = groups['half']?.charAt(0).toLowerCase()
  if (half && (given < 1 || given > 12)) return undefined
  const hour = half ? (given % 12) + (half === 'p' ? 12 : 0) : given
  if (hour > 23 || minute > 59 || second > 60) return undefined
  const milliseconds = Number((groups['fraction'] ?? '').slice(0, 3).padEnd(3, '0'))
  const zone = (zones.get(groups['zone']?.toUpperCase() ?? '') ?? 0) * 60 + toMinutes(groups['offset'])
  return new Date(date + ((hour * 60 + minute - zone) * 60 + second) * 1_000 + milliseconds)
}

function toMinutes(offset = '+00'): number {
  const digits = offset.replace(':', '').slice(1).padEnd(4, '0')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))
  return offset.startsWith('-') ? -minutes : minutes
}
