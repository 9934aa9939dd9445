/**
 * Characters of texts in templates: code points, as in the Liquid of Shopify. Some filters and properties of the engine
 * count UTF-16 code units. An emoji has two of them, and neither is valid text on its own.
 */
import { Context, type FilterImplOptions, type Liquid, toValue } from 'liquidjs'

/** A filter of the engine. */
export type Filter = (
  this: ThisParameterType<Exclude<FilterImplOptions, { raw: boolean }>>,
  ...values: unknown[]
) => unknown

/** Replaces filters of the engine for a text. Returns undefined where the engine's own filter is right. */
const filtersOfText: Record<string, (text: string, separator?: unknown, replacement?: unknown) => unknown> = {
  size: countCharacters,
  first: (text) => findCharacter(text, 0) ?? '',
  last: (text) => Array.from(text.slice(-2)).at(-1) ?? '',
  split: (text, separator) => (isEmpty(separator) ? Array.from(text) : undefined),
  replace: (text, pattern, replacement) =>
    isEmpty(pattern) ? Array.from(text).join(String(toValue(replacement) ?? '')) : undefined,
}

export function useFiltersOfText(liquid: Liquid): void {
  for (const [name, filterText] of Object.entries(filtersOfText)) {
    const filter = liquid.filters[name] as Filter
    liquid.registerFilter(name, function (value: unknown, ...parameters: unknown[]): unknown {
      const text: unknown = toValue(value)
      if (typeof text !== 'string') return filter.call(this, value, ...parameters)
      this.context.memoryLimit.use(text.length)
      return filterText(text, ...parameters) ?? filter.call(this, value, ...parameters)
    })
  }
}

/** Reads `name.size` and `name[0]` of a text by characters. */
export class TemplateContext extends Context {
  override readProperty(...[value, key]: Parameters<Context['readProperty']>): unknown {
    if (typeof value !== 'string') return super.readProperty(value, key)
    const name = String(toValue(key))
    if (name === 'size' || name === 'length') return countCharacters(value)
    return /^\d+$/.test(name) ? findCharacter(value, Number(name)) : undefined
  }

  override spawn(scope = {}): TemplateContext {
    const { opts, sync, globals, strictVariables, ownPropertyOnly, renderLimit, memoryLimit } = this
    const options = { sync, globals, strictVariables, ownPropertyOnly }
    return new TemplateContext(scope, opts, options, { renderLimit, memoryLimit, liquid: this.liquid as Liquid })
  }
}

function countCharacters(text: string): number {
  let count = 0
  for (let index = 0; index < text.length; index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1) count += 1
  return count
}

function findCharacter(text: string, position: number): string | undefined {
  let index = 0
  for (const character of text) {
    if (index === position) return character
    index += 1
  }
  return undefined
}

const isEmpty = (value: unknown) => String(toValue(value) ?? '') === ''
