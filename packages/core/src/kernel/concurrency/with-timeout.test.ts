import { expect, test } from 'vitest'
import { TimeoutError, withTimeout } from './with-timeout.ts'

test('a call that ends in time keeps its result or error', async () => {
  await expect(withTimeout(Promise.resolve('done'), 10_000)).resolves.toBe('done')
  await expect(withTimeout(Promise.reject(new Error('refused')), 10_000)).rejects.toThrow('refused')
})

test('a call that exceeds the timeout rejects with a TimeoutError', async () => {
  await expect(withTimeout(new Promise(() => {}), 5)).rejects.toThrow(TimeoutError)
})

test('a call that fails after its timeout causes no unhandled rejection', async () => {
  const late = Promise.withResolvers<never>()
  await expect(withTimeout(late.promise, 5)).rejects.toThrow(TimeoutError)
  late.reject(new Error('too late'))
})
