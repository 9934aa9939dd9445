import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { newId } from '../kernel/ids.ts'
import { createPublisher } from './publisher.ts'
import type { QueueName, WorkJob } from './queues.ts'

const workspaceId = newId('wsp')
const jobOf = (id: string, kind: WorkJob['kind'] = 'MAIL'): WorkJob => ({ workspaceId, kind, id })

/** A publisher whose adds end when `end` or `fail` is called. */
function createTestPublisher(options: { maxPending?: number } = {}) {
  const adds: { queue: QueueName; ids: string[]; end: () => void; fail: () => void }[] = []
  const errors: Error[] = []
  const add = (queue: QueueName, jobs: readonly WorkJob[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const fail = () => reject(new Error('Redis is away'))
    adds.push({ queue, ids: jobs.map(({ id }) => id), end: resolve, fail })
    return promise
  }
  const publisher = createPublisher({ add, onError: (error) => void errors.push(error), ...options })
  const publish = (...ids: string[]) => ids.forEach((id) => publisher.publish(jobOf(id)))
  const idsOf = () => adds.map(({ ids }) => ids)
  return { publisher, publish, adds, idsOf, errors }
}

/** Two turns: a turn that has begun does not count. */
async function passTurn() {
  await nextTurn()
  await nextTurn()
}

describe('a publisher', () => {
  test('adds the work of a turn together, and each subject once', async () => {
    const { publish, adds, idsOf } = createTestPublisher()
    publish('1', '2', '1')
    await Promise.resolve()
    publish('3', '2')
    expect(adds).toEqual([])
    await passTurn()
    expect(idsOf()).toEqual([['1', '2', '3']])
  })

  test('tells the subjects of two queues apart, and adds one queue after the other', async () => {
    const { publisher, adds } = createTestPublisher()
    publisher.publish(jobOf('1', 'MAIL'))
    publisher.publish(jobOf('1', 'IMPORT'))
    await passTurn()
    expect(adds).toMatchObject([{ queue: 'mail', ids: ['1'] }])
    adds[0]?.end()
    await passTurn()
    expect(adds).toMatchObject([{ queue: 'mail' }, { queue: 'imports', ids: ['1'] }])
  })

  test('has one add on its way, and collects the rest for the next one', async () => {
    const { publish, adds, idsOf } = createTestPublisher()
    publish('1')
    await passTurn()
    for (const id of ['2', '1', '3', '2']) {
      publish(id)
      await passTurn()
    }
    expect(idsOf()).toEqual([['1']])
    adds[0]?.end()
    await passTurn()
    expect(idsOf()).toEqual([['1'], ['2', '1', '3']])
  })

  test('drops what it has collected if an add fails, and publishes later work', async () => {
    const { publish, adds, idsOf, errors } = createTestPublisher()
    publish('1')
    await passTurn()
    publish('2')
    adds[0]?.fail()
    await passTurn()
    expect(errors).toHaveLength(1)
    expect(idsOf()).toEqual([['1']])
    publish('3')
    await passTurn()
    expect(idsOf()).toEqual([['1'], ['3']])
  })

  test('collects a bounded number of subjects while an add hangs', async () => {
    const { publish, adds, idsOf } = createTestPublisher({ maxPending: 3 })
    publish('0')
    await passTurn()
    publish('1', '2', '3', '4', '3', '5')
    adds[0]?.end()
    await passTurn()
    expect(idsOf()).toEqual([['0'], ['1', '2', '3']])
  })

  test('adds outside the async context of the request', async () => {
    const request = new AsyncLocalStorage<string>()
    const contexts: (string | undefined)[] = []
    const publisher = createPublisher({ add: async () => void contexts.push(request.getStore()) })
    request.run('the request', () => publisher.publish(jobOf('1')))
    await passTurn()
    expect(contexts).toEqual([undefined])
  })

  test('adds what is pending when it is closed, and nothing afterwards', async () => {
    const { publisher, publish, adds, idsOf } = createTestPublisher()
    publish('1')
    const closing = publisher.close()
    publish('2')
    await passTurn()
    adds[0]?.end()
    await closing
    expect(idsOf()).toEqual([['1']])
  })
})
