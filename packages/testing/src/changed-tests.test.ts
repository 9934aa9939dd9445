import { expect, test } from 'vitest'
import { findTestsOf } from './changed-tests.ts'

test('a change of a rule selects the tests that import it, also through other sources', () => {
  const tests = findTestsOf(['packages/core/src/tasks/tasks.ts'])
  expect(tests).toContain('packages/core/src/tasks/tasks.int.test.ts')
  expect(tests).toContain('apps/api/src/routes/tasks.int.test.ts')
})

test('it does not select what imports it only through the app or through fixtures', () => {
  const tests = findTestsOf(['packages/core/src/tasks/tasks.ts'])
  expect(tests).not.toContain('apps/api/src/routes/webhooks.int.test.ts')
  expect(tests).not.toContain('packages/core/src/forms/submissions.int.test.ts')
})

test('a changed test and the conventions are always selected', () => {
  const tests = findTestsOf(['packages/sdk/src/retry.test.ts', 'README.md'])
  expect(tests).toContain('packages/sdk/src/retry.test.ts')
  expect(tests).toContain('packages/testing/src/conventions/static-checks.test.ts')
  expect(tests.filter((path) => path.startsWith('apps/'))).toEqual([])
})

test('a change of a fixture selects the tests that import the fixture', () => {
  expect(findTestsOf(['apps/api/test/testing.ts'])).toContain('apps/api/test/fuzz.int.test.ts')
})
