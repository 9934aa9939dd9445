/** The formats `full`, `long`, `medium` and `short` of the filter `date`, in the language of the email. */
import { type FilterImplOptions, type Liquid, toValue } from 'liquidjs'
import { canonicalLocale } from '../../../kernel/values/locale.ts'

type DateFilter = (
  this: ThisParameterType<Exclude<FilterImplOptions, { raw: boolean }>>,
  ...values: unknown[]
) => unknown

const styles = ['full', 'long', 'medium', 'short'] as const

/** Adds the formats to the filter. Every other format means what it means in Liquid. */
export function useDateStyles(liquid: Liquid): void {
  const formatDate = liquid.filters['date'] as DateFilter
  liquid.registerFilter('date', function (value: unknown, format: unknown, ...rest: unknown[]): unknown {
    const name: unknown = toValue(format)
    const style = styles.find((known) => known === name)
    if (!style) return formatDate.call(this, value, format, ...rest)
    const day = formatDate.call(this, value, '%Y-%m-%d', ...rest)
    const time = typeof day === 'string' && isoDate.test(day) ? Date.parse(day) : NaN
    if (Number.isNaN(time)) return day
    const locale: unknown = this.context.getSync(['locale'])
    return findFormatter(typeof locale === 'string' ? locale : '', style).format(time)
  })
}

const isoDate = /^\d{4}-\d\d-\d\d$/

/** A formatter takes longer to create than to use. Templates can name any locale, so few are kept. */
const formatters = new Map<string, Intl.DateTimeFormat>()
const maxFormatters = 100

function findFormatter(text: string, dateStyle: (typeof styles)[number]): Intl.DateTimeFormat {
  const locale = canonicalLocale(text) ?? 'en'
  const key = `${locale} ${dateStyle}`
  const known = formatters.get(key)
  if (known) return known
  if (formatters.size >= maxFormatters) formatters.clear()
  const formatter = new Intl.DateTimeFormat(locale, { dateStyle, timeZone: 'UTC' })
  formatters.set(key, formatter)
  return formatter
}
