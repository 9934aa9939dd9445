import { expect, test } from 'vitest'
import { createClosers } from './closers.ts'

test('closers run last in, first out, once, also after one that throws', async () => {
  const closers = createClosers()
  const steps: string[] = []
  closers.push(() => steps.push('first'))
  closers.push(() => Promise.reject(new Error('broken')))
  closers.push(async () => void steps.push('third'))
  await expect(closers.close()).rejects.toThrow('broken')
  expect(steps).toEqual(['third', 'first'])
  await closers.close()
  expect(steps).toHaveLength(2)
})
