import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { benches, optionalBenches } from './benches.ts'

test('docs/bench.md lists exactly the existing benches', () => {
  const document = readFileSync(resolve(import.meta.dirname, '../../../docs/bench.md'), 'utf8')
  const rows = [...document.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name)
  expect(new Set(rows)).toEqual(new Set(Object.keys({ ...benches, ...optionalBenches })))
})

test('the whole bench, and so its chart, compares with Parse Server', () => {
  expect(Object.keys(benches)).toContain('peers')
})
