import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { guards } from './guards.ts'
import { removeGuard } from './remove-guard.ts'

const root = resolve(import.meta.dirname, '../../../..')

test.each(guards)('the guard is where it is removed: $name', (guard) => {
  const source = readFileSync(resolve(root, guard.file), 'utf8')
  expect(removeGuard(source, guard)).not.toBe(source)
  expect(guard.tests.filter((path) => !existsSync(resolve(root, path)))).toEqual([])
})

test('each guard has a name of its own', () => {
  expect(new Set(guards.map(({ name }) => name)).size).toBe(guards.length)
})
