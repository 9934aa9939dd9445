import { expect, test } from 'vitest'
import type { AppError } from '../../kernel/errors.ts'
import { checkData, type EmailData } from './variables.ts'

const variables = [{ name: 'resetUrl', type: 'URL', required: false, example: null } as const]

function findIssues(data: EmailData) {
  try {
    checkData(variables, data)
    return []
  } catch (error) {
    return (error as AppError).issues ?? []
  }
}

test('of thousands of unknown values, a hundred are named, five with a suggestion', () => {
  const issues = findIssues(Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`resetUr${n}`, 1])))
  expect(issues).toHaveLength(100)
  expect(issues.filter(({ message }) => message.includes('did you mean "resetUrl"'))).toHaveLength(5)
})

test('values of more than 16 KiB are refused', () => {
  const text = { name: 'text', type: 'LIST', required: true, example: 'a' } as const
  expect(() => checkData([text], { text: ['a'.repeat(8_192), 'b'.repeat(8_192)] })).toThrow('at most 16 KiB')
})
