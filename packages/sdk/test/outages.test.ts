import { Rapport, type RapportOptions } from '../src/index.ts'
import { expect, test } from 'vitest'

/** A client whose requests get these responses in order. Returns the paths that it requested, too. */
function createClient(responses: Response[], options: Partial<RapportOptions> = {}) {
  const requested: string[] = []
  async function respond(url: string | URL | Request) {
    requested.push((url as string).slice('http://api.test'.length))
    return responses.shift() ?? Response.json({ data: [], nextCursor: null })
  }
  const rapport = new Rapport({ baseUrl: 'http://api.test', apiKey: 'rpk_test', fetch: respond, ...options })
  return { rapport, requested }
}
const unavailable = () => Response.json({ message: 'Service Unavailable' }, { status: 503 })
const deleted = () =>
  Response.json(
    { message: 'Event not found', issues: [{ path: 'after', message: 'Event not found' }] },
    { status: 400 },
  )
const page = (...ids: string[]) => Response.json({ data: ids.map((id) => ({ id })), nextCursor: null })

test('onRetry is called before each retry, and a request may have its own', async () => {
  const reported: string[] = []
  const { rapport } = createClient([unavailable(), page(), unavailable(), page()], {
    onRetry: ({ message }) => reported.push(`client: ${message}`),
  })
  await rapport.contacts.list()
  await rapport.contacts.list({}, { onRetry: ({ message }) => reported.push(`request: ${message}`) })
  expect(reported).toEqual(['client: 503 Service Unavailable', 'request: 503 Service Unavailable'])
})

test('a successful response that is not JSON is an error, and is not repeated', async () => {
  const { rapport, requested } = createClient([new Response('<html></html>')])
  const error: unknown = await rapport.contacts.list().catch((reason: unknown) => reason)
  expect(error).toMatchObject({ name: 'RapportError', message: expect.stringContaining('not JSON') })
  expect(requested).toHaveLength(1)
})

test('follow restarts with the oldest event if one that it accepted was deleted', async () => {
  const stopping = new AbortController()
  const { rapport, requested } = createClient([page(), deleted(), page('evt_2')])
  const options = { signal: stopping.signal, pollMs: 1 }
  expect(await rapport.events.follow('evt_1', () => stopping.abort(), options)).toBe('evt_2')
  expect(requested.map((path) => path.replace('&limit=100', ''))).toEqual([
    '/events?after=evt_1',
    '/events?after=evt_1',
    '/events?sort=createdAt',
  ])
})

test('follow throws if the API rejects the id of the caller', async () => {
  const { rapport } = createClient([deleted()])
  await expect(rapport.events.follow('evt_1', () => {})).rejects.toThrow('after: Event not found')
})

test('follow continues after an outage, and reports each failure', async () => {
  const stopping = new AbortController()
  const { rapport } = createClient([unavailable(), page('evt_2')])
  const failures: string[] = []
  await rapport.events.follow('evt_1', () => stopping.abort(), {
    signal: stopping.signal,
    onError: ({ message }) => failures.push(message),
  })
  expect(failures).toEqual(['503 Service Unavailable'])
})
