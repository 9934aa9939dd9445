import { expect, test } from 'vitest'
import { findTestsOf } from './changed-tests.ts'

test('a change of a rule selects the tests that import it, also through other sources', () => {
  const { nearest } = findTestsOf(['packages/core/src/tasks/tasks.ts'])
  expect(nearest).toContain('packages/core/src/tasks/tasks.int.test.ts')
  expect(nearest).toContain('apps/api/src/routes/tasks.int.test.ts')
  expect(nearest).toContain('packages/core/src/operations/contacts/contact-records.int.test.ts')
})

test('it selects nothing that imports it only by the app, operations or fixtures', () => {
  const { nearest, others } = findTestsOf(['packages/core/src/tasks/tasks.ts'])
  const tests = [...nearest, ...others]
  expect(tests).not.toContain('apps/api/src/routes/webhooks.int.test.ts')
  expect(tests).not.toContain('packages/core/src/operations/contacts/unsubscribe.int.test.ts')
  expect(tests).not.toContain('packages/core/src/forms/submissions.int.test.ts')
})

test('of the tests of a file that nearly all others use, the nearest are selected', () => {
  const { nearest, others } = findTestsOf(['packages/core/src/lists/lists.ts'])
  expect(nearest).toContain('packages/core/src/lists/subscribe.int.test.ts')
  expect(nearest).toContain('apps/api/src/routes/lists.int.test.ts')
  expect(others).toContain('packages/core/src/forms/submissions.int.test.ts')
  expect(nearest.length).toBeLessThan(others.length)
})

test('a changed test and the conventions are always selected', () => {
  const { nearest, conventions } = findTestsOf(['packages/sdk/src/retry.test.ts', 'README.md'])
  expect(nearest).toEqual(['packages/sdk/src/retry.test.ts'])
  expect(conventions).toContain('packages/testing/src/conventions/static-checks.test.ts')
})

test('a change of a fixture selects the tests that import the fixture', () => {
  const { nearest, others } = findTestsOf(['apps/api/test/testing.ts'])
  expect([...nearest, ...others]).toContain('apps/api/test/fuzz.int.test.ts')
})
