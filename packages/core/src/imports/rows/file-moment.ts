/** Moments as other systems write them, if they can be read in one way only. Without a time zone, they are in UTC. */
import { languages } from '../../kernel/values/languages.ts'

const separator = String.raw`(?:,? +(?:(?:at|um|à|a las|alle(?: ore)?|às) +)?|T)`
const time = String.raw`(?:${separator}(?<time>\d\S*.*))?$`
const month = String.raw`(?<name>\p{L}{3,10})\.?`
/** Any other word before a date may be `until` or `declined on`. */
const weekday = String.raw`(?:(?:${listWeekdays().join('|')})\.?,? +)?(?:(?:le|el|il|am|den|the|on) +)?`
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
const zones: Readonly<Record<string, number>> = {
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
  CET: 1,
  CEST: 2,
}

/** Weekdays by their names and abbreviations in the languages of Rapport, longest first. */
function listWeekdays(): string[] {
  const names = languages.flatMap((language) =>
    (['long', 'short'] as const).flatMap((style) => {
      const format = new Intl.DateTimeFormat(language, { weekday: style, timeZone: 'UTC' })
      return Array.from({ length: 7 }, (_, day) => format.format(Date.UTC(2026, 5, day + 1)).replaceAll('.', ''))
    }),
  )
  return [...new Set(names)].toSorted((one, other) => other.length - one.length)
}

/** Months by their names and abbreviations in the languages of Rapport, in lower case. */
const months = new Map(
  languages.flatMap((language) =>
    (['long', 'short'] as const).flatMap((style) => {
      const format = new Intl.DateTimeFormat(language, { month: style, timeZone: 'UTC' })
      return Array.from(
        { length: 12 },
        (_, index) => [toName(format.format(Date.UTC(2026, index))), index + 1] as const,
      )
    }),
  ),
)
function toName(text: string): string {
  return text.toLowerCase().replaceAll('.', '').trim()
}

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
export function parseMoment(text: string): Date | undefined {
  const trimmed = text.trim().replaceAll(/[\s\u202f\u00a0]+/g, ' ')
  const { seconds, milliseconds } = epoch.exec(trimmed)?.groups ?? {}
  if (seconds ?? milliseconds) return new Date(Number(milliseconds ?? Number(seconds) * 1_000))
  for (const pattern of dates) {
    const groups = pattern.exec(trimmed)?.groups
    const date = groups && readDate(groups)
    if (groups && date !== undefined) return addTime(date, groups['time'] ?? groups['clock'])
  }
  return undefined
}

type Groups = Readonly<Record<string, string | undefined>>

/** Milliseconds of the start of the day. */
function readDate(groups: Groups): number | undefined {
  const [one, other] = [Number(groups['one']), Number(groups['other'])]
  const isSlashed = groups['one'] !== undefined
  if (isSlashed && one <= 12 && other <= 12 && one !== other) return undefined
  const name = groups['name']
  const year = Number(groups['year'])
  const month = isSlashed
    ? Math.min(one, other)
    : name === undefined
      ? Number(groups['month'])
      : months.get(toName(name))
  const day = isSlashed ? Math.max(one, other) : Number(groups['day'])
  if (month === undefined) return undefined
  const moment = new Date(Date.UTC(year, month - 1, day))
  // Date.UTC accepts February 30, and reads the years before 100 as 19xx.
  const isExact = moment.getUTCFullYear() === year && moment.getUTCMonth() === month - 1 && moment.getUTCDate() === day
  return isExact ? moment.getTime() : undefined
}

function addTime(date: number, text: string | undefined): Date | undefined {
  if (text === undefined) return new Date(date)
  const groups = timeOfDay.exec(text)?.groups
  if (!groups) return undefined
  const [given, minute, second] = [groups['hour'], groups['minute'], groups['second']].map((part) =>
    Number(part ?? 0),
  ) as [number, number, number]
  const half = groups['half']?.charAt(0).toLowerCase()
  // A number alone is no time, and 13 PM is none either.
  if (groups['minute'] === undefined && !half) return undefined
  if (half && (given < 1 || given > 12)) return undefined
  const hour = half ? (given % 12) + (half === 'p' ? 12 : 0) : given
  if (hour > 23 || minute > 59 || second > 60) return undefined
  const milliseconds = Number((groups['fraction'] ?? '').slice(0, 3).padEnd(3, '0'))
  const local = date + ((hour * 60 + minute) * 60 + second) * 1_000 + milliseconds
  const zone = (zones[groups['zone']?.toUpperCase() ?? ''] ?? 0) * 60
  return new Date(local - (zone + toMinutes(groups['offset'])) * 60_000)
}

function toMinutes(offset: string | undefined): number {
  if (offset === undefined) return 0
  const digits = offset.replace(':', '').slice(1).padEnd(4, '0')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))
  return offset.startsWith('-') ? -minutes : minutes
}
