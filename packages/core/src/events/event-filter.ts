/**
 * Which events a webhook receives. PostgreSQL decides it in the statement that inserts the deliveries: a filter is stored
 * as a jsonpath, which is compared with the facts of an event. `event-filter.int.test.ts` compares the decisions with a
 * model.
 */
import type { EventFilter, FilterValue } from '../db/schema/webhooks.ts'
import { normalizeText } from '../kernel/validation.ts'

export const maxFilterTextLength = 500

/** The scalars of an event and the names of its changed fields, as JSON: all that a filter can name. */
export function toFacts(data: object, changed: readonly string[] = []): string {
  const facts = Object.entries(data).filter(([, value]) => value === null || typeof value !== 'object')
  return JSON.stringify({ ...Object.fromEntries(facts.map(([field, value]) => [field, toFact(value)])), changed })
}

/** In the form that a filter has it. Of a text that no filter can name, only that it is one. */
function toFact(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const text = normalizeText(value)
  // jsonb can have neither NUL nor half of a surrogate pair.
  const isFilterable = text.length <= maxFilterTextLength && text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text)
  return isFilterable ? text : undefined
}

/** Returns the jsonpath that is true for the facts of an event that matches. */
export function toJsonPath(filter: EventFilter): string {
  const conditions = Object.entries(filter).flatMap(([field, condition]) => {
    if (condition === undefined) return []
    if (Array.isArray(condition)) return [isOneOf('$.changed[*]', condition)]
    return [isOneOf(`$.${JSON.stringify(field)}`, 'in' in condition ? condition.in : [condition.eq])]
  })
  return conditions.join(' && ')
}

/** A text of JSON is one of jsonpath, too. */
const isOneOf = (operand: string, values: readonly FilterValue[]) =>
  `(${values.map((value) => `${operand} == ${JSON.stringify(value)}`).join(' || ')})`
