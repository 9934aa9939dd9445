import { inspect } from 'node:util'
import { DrizzleQueryError } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { AppError, invalidField, truncateText, withoutParameters } from './errors.ts'

test('an invalid field is reported with its path', () => {
  const error = invalidField('fields.0.label', 'must not be empty')
  expect(error).toBeInstanceOf(AppError)
  expect(error).toMatchObject({
    code: 'validation_error',
    issues: [{ path: 'fields.0.label', message: 'must not be empty' }],
  })
})

test('a long public text ends before an emoji, not inside it', () => {
  expect(truncateText('a🦉🦉', 3)).toBe('a🦉…')
  expect(truncateText('a🦉🦉', 4)).toBe('a🦉…')
})

test('a logged error omits the parameters of a failed statement, also in its cause', () => {
  const failed = new DrizzleQueryError('select $1', ['ada@example.com'], new Error('connection refused'))
  for (const error of [failed, new Error('a job failed', { cause: failed })]) {
    const logged = inspect(withoutParameters(error))
    expect(logged).not.toContain('ada@example.com')
    expect(logged).toContain('select $1')
    expect(logged).toContain('connection refused')
  }
  const other = new Error('something else', { cause: new Error('why') })
  expect(withoutParameters(other)).toBe(other)
})
