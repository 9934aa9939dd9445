/**
 * What libraries print as RFC 3339 or ISO 8601: `t` and `z`, a space instead of `T`, no seconds, a comma before the fraction,
 * `+0000` or `+01`, no separators at all (the basic format), and the name of the zone behind the offset (RFC 9557). Ruby puts a
 * space before the offset, and `UTC` instead of it. The minus may be U+2212, which ISO 8601 prefers.
 */
const printed =
  /^(?:(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d))?|(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?)(?:[.,](\d{1,20}))? ?(Z|UTC|[+\-\u2212]\d\d(?::?\d\d)?)(?:\[!?[\w/+-]{1,64}\])?$/i

/** Returns a moment that can be read in one way only as `2026-11-21T06:35:49.123+01:00`; every other text unchanged. */
export function normalizeMoment(text: string): string {
  const [whole, ...parts] = text.length > 120 ? [] : (printed.exec(text) ?? [])
  if (whole === undefined) return text
  const [year, month, day, hour, minute, second = '00'] = parts[0] === undefined ? parts.slice(6) : parts
  const [fraction, offset = ''] = parts.slice(12)
  const at = `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction === undefined ? '' : `.${fraction}`}`
  return at + normalizeOffset(offset)
}

function normalizeOffset(offset: string): string {
  if (/^[a-z]/i.test(offset)) return 'Z'
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0')
  return `${offset.startsWith('+') ? '+' : '-'}${digits.slice(0, 2)}:${digits.slice(2)}`
}
