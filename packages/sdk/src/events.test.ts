import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createFakeClient, json, resultOf, rejectionOf, useFakeTime } from '../test/fake-fetch.ts'
import { AuthenticationError, type RapportError, ValidationError } from './errors.ts'
import type { WebhookEvent } from './generated/operations.gen.ts'

beforeEach(() => useFakeTime())
afterEach(() => {
  vi.useRealTimers()
})

const prefix = 'evt_01kag7m3v9e8fs2t4w6x8y0z'
/** An id for a short name such as `e1`. Ids sort like these names. */
const idOf = (name: string) => prefix + name
const nameOf = (id: string | null) => id?.replace(prefix, '')

const page =
  (...names: string[]) =>
  () =>
    json(200, { data: names.map((name) => ({ id: idOf(name) })), nextCursor: names.length > 0 ? 'more' : null })
const deleted = () => json(400, { code: 'validation_error', issues: [{ path: 'after', message: 'Event not found' }] })
const unavailable = () => json(503, { message: 'Unavailable' })
const lost = new TypeError('fetch failed')

/** Follows a feed until the last of the outcomes has been read. Events are given and returned by their names. */
function follow(after: string | null, outcomes: (Error | (() => Response))[], options: object = {}) {
  const controller = new AbortController()
  const end = () => (controller.abort(), json(200, { data: [], nextCursor: null }))
  const { rapport, sent } = createFakeClient([...outcomes, end])
  const handled: string[] = []
  const errors: RapportError[] = []
  const handler = ({ id }: WebhookEvent) => void handled.push(nameOf(id) ?? '')
  const onError = (error: RapportError) => void errors.push(error)
  const ended = rapport.events
    .follow(after && idOf(after), handler, { signal: controller.signal, onError, ...options })
    .then(nameOf)
  const paths = () => sent.map(({ path }) => path.replace('/events?limit=100', '').replace(prefix, ''))
  return { ended, handled, errors, sent, paths }
}

test('each event is handled in order, and the next request resumes after the last one', async () => {
  const { ended, handled, paths } = follow('e0', [page('e1', 'e2'), page(), page(), page('e3')])
  expect(await resultOf(ended)).toEqual({ status: 'fulfilled', value: 'e3' })
  expect(handled).toEqual(['e1', 'e2', 'e3'])
  expect(paths()).toEqual(['&after=e0', '&after=e2', '&after=e2', '&after=e2', '&after=e3'])
})

test('null starts with the oldest event', async () => {
  const { ended, handled, paths } = follow(null, [page(), page('e1')], { type: ['contact.created'] })
  expect(await resultOf(ended)).toEqual({ status: 'fulfilled', value: 'e1' })
  expect(handled).toEqual(['e1'])
  expect(paths()).toEqual([
    '&type=contact.created&sort=createdAt',
    '&type=contact.created&sort=createdAt',
    '&type=contact.created&after=e1',
  ])
})

test('a feed without new events is polled once per second, or as often as asked', async () => {
  for (const [options, expectedMs] of [
    [{}, 1_000],
    [{ pollMs: 200 }, 200],
  ] as const) {
    const { ended, sent } = follow('e0', [page(), page()], options)
    await resultOf(ended)
    expect(sent.slice(1).map(({ atMs }, index) => atMs - Number(sent[index]?.atMs))).toEqual([expectedMs, expectedMs])
  }
})

test('temporary failures are reported and repeated without end, and no event is lost', async () => {
  const failures = [lost, unavailable, () => json(429, {}), lost, lost, unavailable]
  const { ended, handled, errors, paths } = follow('e0', [page('e1'), ...failures, page('e2')])
  expect(await resultOf(ended)).toEqual({ status: 'fulfilled', value: 'e2' })
  expect(handled).toEqual(['e1', 'e2'])
  const [down, refused] = ['ConnectionError', 'ServerError']
  expect(errors.map(({ name }) => name)).toEqual([down, refused, 'RateLimitError', down, down, refused])
  expect(new Set(paths().slice(1, 8))).toEqual(new Set(['&after=e1']))
})

test('a failure that is not temporary rejects', async () => {
  const { ended, handled } = follow('e0', [page('e1'), () => json(401, {})])
  expect(await rejectionOf(ended)).toBeInstanceOf(AuthenticationError)
  expect(handled).toEqual(['e1'])
})

test('a position that the feed no longer has continues with its oldest event', async () => {
  const { ended, handled, errors, paths } = follow('e0', [page('e1'), deleted, page('e7'), page('e8')])
  expect(await resultOf(ended)).toEqual({ status: 'fulfilled', value: 'e8' })
  expect(handled).toEqual(['e1', 'e7', 'e8'])
  expect(errors).toEqual([])
  expect(paths()).toEqual(['&after=e0', '&after=e1', '&sort=createdAt', '&after=e7', '&after=e8'])
})

test('after a restore, events that were handled before it are not handled again', async () => {
  const pages = [page('e5', 'e6'), deleted, page('e1', 'e2'), page('e3'), page(), page('e8')]
  const { ended, handled, paths } = follow('e4', pages)
  expect(await resultOf(ended)).toEqual({ status: 'fulfilled', value: 'e8' })
  expect(handled).toEqual(['e5', 'e6', 'e8'])
  expect(paths()).toEqual([
    '&after=e4',
    '&after=e6',
    '&sort=createdAt',
    '&after=e2',
    '&after=e3',
    '&after=e3',
    '&after=e8',
  ])
})

test('a program that starts after a restore continues with newer events', async () => {
  const { ended, handled, paths } = follow('e6', [deleted, page('e1', 'e4'), page('e7')])
  expect(await resultOf(ended)).toEqual({ status: 'fulfilled', value: 'e7' })
  expect(handled).toEqual(['e7'])
  expect(paths()).toEqual(['&after=e6', '&sort=createdAt', '&after=e4', '&after=e7'])
})

test('a position that is no id of an event rejects', async () => {
  const { ended, handled } = follow('typo', [deleted])
  expect(await rejectionOf(ended)).toBeInstanceOf(ValidationError)
  expect(handled).toEqual([])
})

describe('the handler', () => {
  test('is awaited before the next event', async () => {
    const { rapport } = createFakeClient([page('e1', 'e2'), () => json(401, {})])
    const log: string[] = []
    const handler = async ({ id }: WebhookEvent) => {
      log.push(`${nameOf(id)} starts`)
      await new Promise(setImmediate)
      log.push(`${nameOf(id)} ends`)
    }
    await resultOf(rapport.events.follow('e0', handler))
    expect(log).toEqual(['e1 starts', 'e1 ends', 'e2 starts', 'e2 ends'])
  })

  test('that throws ends the loop with its error, before the next event', async () => {
    for (const fail of [
      () => {
        throw new Error('no')
      },
      () => Promise.reject(new Error('no')),
    ]) {
      const { rapport, sent } = createFakeClient([page('e1', 'e2')])
      expect(await rejectionOf(rapport.events.follow('e0', fail))).toEqual(new Error('no'))
      expect(sent).toHaveLength(1)
      expect(vi.getTimerCount()).toBe(0)
    }
  })
})

describe('an abort', () => {
  test('before the start sends nothing', async () => {
    const { rapport, sent } = createFakeClient([])
    expect(await rapport.events.follow('e0', () => {}, { signal: AbortSignal.abort() })).toBe('e0')
    expect(sent).toEqual([])
  })

  test('during a handler lets it finish, and handles no further event', async () => {
    const { rapport } = createFakeClient([page('e1', 'e2')])
    const controller = new AbortController()
    let isFinished = false
    const handler = async () => {
      controller.abort()
      await new Promise(setImmediate)
      isFinished = true
    }
    expect(nameOf(await rapport.events.follow('e0', handler, { signal: controller.signal }))).toBe('e1')
    expect(isFinished).toBe(true)
  })

  test.each([
    ['a request', 'hang' as const],
    ['the pause between requests', page()],
    ['the pause after a failure', unavailable],
  ])('during %s ends at once, and leaves no timer', async (_moment, outcome) => {
    const { rapport, sent } = createFakeClient([outcome])
    const controller = new AbortController()
    const ended = rapport.events.follow('e0', () => {}, { signal: controller.signal })
    await vi.advanceTimersByTimeAsync(10)
    controller.abort()
    expect(await ended).toBe('e0')
    expect(sent).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})
