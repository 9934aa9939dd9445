import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { removeGuard } from '@rapport/testing/guards/remove-guard.ts'
import { expect, test } from 'vitest'
import { mutants } from './mutants.ts'

const read = (file: string) => readFileSync(resolve(import.meta.dirname, '../../../../..', file), 'utf8')

test.each(mutants)('the guard is where the mutant removes it: $name', (mutant) => {
  const source = read(mutant.file)
  expect(removeGuard(source, mutant)).not.toBe(source)
})
