import type { z } from 'zod'

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
const units: Record<string, string> = { string: ' characters', array: ' items', set: ' items', map: ' items' }

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
    return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`
  }
  if (code === 'unrecognized_keys') return `unknown field ${issue.keys.join(', ')}`
  if (code === 'not_multiple_of') return `must be a multiple of ${issue.divisor}`
  return 'is invalid'
}

function describeBound(origin: string, bound: string, size: number | bigint): string {
  const unit = units[origin]
  return `must ${unit ? 'have' : 'be'} ${bound} ${size.toLocaleString('en')}${unit ?? ''}`
}
