import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createFakeClient, json, resultOf, useFakeTime } from '../test/fake-fetch.ts'
import { NotFoundError } from './errors.ts'

beforeEach(() => useFakeTime())
afterEach(() => {
  vi.useRealTimers()
})

const record = (status: string) => () => json(200, { id: 'imp_1', status })

test.each(['COMPLETED', 'FAILED', 'CANCELED'])('waits until an import is %s, with progress', async (status) => {
  const { rapport, sent } = createFakeClient([record('QUEUED'), () => json(503, {}), record('RUNNING'), record(status)])
  const progress: string[] = []
  const ended = rapport.imports.wait('imp_1', { onProgress: (each) => void progress.push(each.status) })
  expect(await resultOf(ended)).toEqual({ status: 'fulfilled', value: { id: 'imp_1', status } })
  expect(progress).toEqual(['QUEUED', 'RUNNING', status])
  expect(sent.map(({ path }) => path)).toEqual(Array(4).fill('/imports/imp_1'))
  expect(Number(sent[3]?.atMs) - Number(sent[2]?.atMs)).toBe(1_000)
})

test('rejects with the reason of the signal, and leaves no timer', async () => {
  const { rapport } = createFakeClient([record('RUNNING')])
  const controller = new AbortController()
  const ended = rapport.imports.wait('imp_1', { signal: controller.signal })
  ended.catch(() => {})
  await vi.advanceTimersByTimeAsync(10)
  controller.abort('enough')
  await expect(ended).rejects.toBe('enough')
  expect(vi.getTimerCount()).toBe(0)
})

test('rejects for an unknown import', async () => {
  const { rapport } = createFakeClient([() => json(404, {})])
  await expect(rapport.imports.wait('imp_1')).rejects.toBeInstanceOf(NotFoundError)
})
