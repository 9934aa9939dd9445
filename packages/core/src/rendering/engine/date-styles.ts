/** The formats `full`, `long`, `medium` and `short` of the filter `date`, in the language of the email. */
import { type Liquid, toValue } from 'liquidjs'
import { LRUCache } from 'lru-cache'
import { canonicalLocale } from '../../kernel/values/locale.ts'
import type { Filter } from './characters.ts'

const styles = ['full', 'long', 'medium', 'short'] as const

/** Adds the formats to the filter. Every other format means what it means in Liquid. */
export function useDateStyles(liquid: Liquid): void {
  const formatDate = liquid.filters['date'] as Filter
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

/** Creating a formatter takes 90 µs, and using it 1.5 µs (2026-11-26). Few are kept, as templates can name any locale. */
const formatters = new LRUCache<string, Intl.DateTimeFormat>({ max: 100 })

function findFormatter(text: string, dateStyle: (typeof styles)[number]): Intl.DateTimeFormat {
  const locale = canonicalLocale(text) ?? 'en'
  const key = `${locale} ${dateStyle}`
  const formatter = formatters.get(key) ?? new Intl.DateTimeFormat(locale, { dateStyle, timeZone: 'UTC' })
  formatters.set(key, formatter)
  return formatter
}
