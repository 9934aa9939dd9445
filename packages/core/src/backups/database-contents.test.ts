import { expect, test } from 'vitest'
import { compareContents, type DatabaseContents } from './database-contents.ts'

const contents = (rows: Record<string, number>, ...migrations: string[]): DatabaseContents => ({
  rows: new Map(Object.entries(rows)),
  migrations,
})

test('equal contents have no differences', () => {
  const original = contents({ 'public.contacts': 2, 'public.lists': 0 }, 'a', 'b')
  expect(compareContents(original, contents({ 'public.lists': 0, 'public.contacts': 2 }, 'a', 'b'))).toEqual([])
})

test('names other numbers of rows, missing and additional tables, and other migrations', () => {
  const original = contents({ 'public.contacts': 2, 'public.lists': 0 }, 'a', 'b')
  expect(compareContents(original, contents({ 'public.contacts': 1, 'public.forms': 3 }, 'a'))).toEqual([
    'public.contacts has 1 row instead of 2 rows',
    'public.lists has no table instead of 0 rows',
    'public.forms has 3 rows instead of no table',
    'the applied migrations differ',
  ])
})
