import type { z } from 'zod'
import type { Issue } from './errors.ts'
import { suggestForEach, withSuggestion } from './suggestion.ts'

const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}
const units: Record<string, string> = { string: ' character', array: ' item', set: ' item', map: ' item' }
/** Parameters of other APIs, and what to use here. */
const pagingParameters = new Map([
  ['page', 'cursor'],
  ['offset', 'cursor'],
  ['perpage', 'limit'],
  ['pagesize', 'limit'],
])

/** Describes a validation error of a schema that does not define its own message. */
export function describeIssue(issue: z.core.$ZodRawIssue): string {
  const { code } = issue
  if (issue.input === undefined && code.startsWith('invalid_')) return 'is required'
  if (code === 'invalid_type') return `must be ${typeNames[issue.expected] ?? issue.expected}`
  if (code === 'too_big') {
    return describeBound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
  }
  if (code === 'too_small') {
    return describeBound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
  }
  if (code === 'invalid_value') {
    const values = issue.values.map(String)
    const message = `must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`
    return typeof issue.input === 'string' ? withSuggestion(message, issue.input, values) : message
  }
  if (code === 'unrecognized_keys') return describeUnknownKeys('field', issue)
  if (code === 'not_multiple_of') return `must be a multiple of ${issue.divisor}`
  return 'is invalid'
}

/** Like `describeIssue`, for the query of a request. */
export function describeQueryIssue(issue: z.core.$ZodRawIssue): string | undefined {
  return issue.code === 'unrecognized_keys' ? describeUnknownKeys('parameter', issue) : undefined
}

/** Returns one line for each unknown key, with the most similar key of the schema. `toIssues` splits the lines. */
function describeUnknownKeys(
  kind: 'field' | 'parameter',
  issue: z.core.$ZodRawIssue<z.core.$ZodIssueUnrecognizedKeys>,
) {
  const shape = (issue.inst as z.ZodObject | undefined)?.shape ?? {}
  const messages = suggestForEach(`unknown ${kind}`, issue.keys, Object.keys(shape))
  if (kind === 'field') return messages.join('\n')
  return issue.keys
    .map((key, index) => {
      const other = pagingParameters.get(key.toLowerCase().replace('_', ''))
      return other !== undefined && other in shape ? `unknown parameter (use "${other}")` : messages[index]
    })
    .join('\n')
}

/**
 * Converts a validation error. Each unknown key becomes an issue of its own. `recordFields` are the fields of the
 * record in responses: an unknown key with such a name is read-only.
 */
export function toIssues(
  { issues }: { issues: readonly z.core.$ZodIssue[] },
  recordFields: readonly string[] = [],
): Issue[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'invalid_union') {
      const meant = findMeantOption(issue.errors)
      if (meant) return toIssues({ issues: meant.map((one) => ({ ...one, path: [...issue.path, ...one.path] })) })
    }
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), message: issue.message }]
    const messages = issue.message.split('\n')
    return issue.keys.map((key, index) => {
      const isReadOnly = issue.path.length === 0 && recordFields.includes(key)
      return { path: [...issue.path, key].join('.'), message: isReadOnly ? 'is read-only' : (messages[index] ?? '') }
    })
  })
}

/**
 * Returns the issues of the option of a union that the client meant: the only one that has the type of the value, or
 * knows most of its keys. Returns undefined if there is no such option.
 */
function findMeantOption(options: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | undefined {
  const countMismatches = (issue: z.core.$ZodIssue) => {
    const isWrongType = issue.code === 'invalid_type' && (issue.path.length === 0 || issue.expected === 'never')
    if (isWrongType) return Number.MAX_SAFE_INTEGER
    if (issue.path.length > 0) return 0
    return issue.code === 'unrecognized_keys' ? issue.keys.length : 0
  }
  const counts = options.map((issues) => issues.reduce((sum, issue) => sum + countMismatches(issue), 0))
  const fewest = Math.min(...counts)
  return counts.filter((count) => count === fewest).length === 1 ? options[counts.indexOf(fewest)] : undefined
}

function describeBound(origin: string, bound: string, size: number | bigint): string {
  const unit = units[origin]
  const number = size.toLocaleString('en')
  return unit ? `must have ${bound} ${number}${unit}${Number(size) === 1 ? '' : 's'}` : `must be ${bound} ${number}`
}
