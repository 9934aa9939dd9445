import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { streamPages } from './stream-pages.ts'

/** Reads 20 pages of 100,000 bytes, each after 40 ms, and returns how many came. */
async function readSlowly(limits: { idleMs: number; bytesPerMs: number }) {
  let pages = 0
  let isClosed = false
  const readPage = async () => (pages === 20 ? null : (pages++, 'x'.repeat(100_000)))
  const stream = streamPages({ readPage, close: () => void (isClosed = true) }, limits)
  let bytes = 0
  const error = await (async () => {
    for await (const chunk of stream) {
      bytes += (chunk as Buffer).length
      await sleep(40)
    }
  })().catch((error: unknown) => error)
  expect(isClosed).toBe(true)
  return { bytes, error }
}

test('a slow client that takes a page before each time limit is cut off', async () => {
  const { bytes, error } = await readSlowly({ idleMs: 300, bytesPerMs: 10_000 })
  expect(error).toMatchObject({ message: expect.stringContaining('too slowly') })
  expect(bytes).toBeLessThan(2_000_000)
})

test('a client with pauses that reads fast enough gets all, however long it takes', async () => {
  const { bytes, error } = await readSlowly({ idleMs: 700, bytesPerMs: 10 })
  expect(error).toBeUndefined()
  expect(bytes).toBe(2_000_000)
})
