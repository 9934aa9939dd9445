import { setTimeout as sleep } from 'node:timers/promises'
import { eventTypes } from '@rapport/core/events/event-definition.ts'
import { type EventId, Id } from '@rapport/core/kernel/ids.ts'
import type { Event } from '@rapport/core/webhooks/event-feed.schema.ts'
import { serializeEvent, newSecret, signBody } from '@rapport/core/webhooks/signature.ts'
import { z } from 'zod'
import { type Api, ApiError, apiOptions, openApi, reasonOf } from '../api-client.ts'
import { defineCommand, exitCodes, flag, option, type CliContext } from '../command.ts'

/** Below the rate limit of 100 requests per minute. */
const pollMs = 1_000
/** The timeout of a webhook delivery. */
const responseTimeoutMs = 10_000

const Types = z
  .string()
  .transform((text) => text.split(',').map((type) => type.trim()))
  .pipe(z.array(z.enum([...eventTypes, '*'], { error: `must be one of ${eventTypes.join(', ')}` })))

export const listen = defineCommand({
  name: 'listen',
  summary: 'Forwards events to a local program, signed like webhooks',
  options: z.strictObject({
    forward: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .meta(option('<url>', 'URL that receives each event as a POST request')),
    types: Types.default(['*']).meta(
      option('<types>', 'Event types, comma-separated, such as contact.created,deal.won (default: all)'),
    ),
    secret: z
      .string()
      .regex(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/, 'must be whsec_ and at least 24 bytes in base64')
      .optional()
      .meta(option('<whsec_…>', 'Signing secret (default: a new one, which is printed)')),
    after: Id('evt').optional().meta(option('<evt_…>', 'Starts after this event (default: new events only)')),
    json: z.boolean().default(false).meta(flag('Prints one line of JSON per event')),
    ...apiOptions,
  }),
  notes: [
    'Reads the event feed (GET /events), so it needs only an API key of any role, works behind a firewall and misses',
    'no event while the API restarts. Each event is forwarded once, in the order of the feed, with the body and',
    'headers of a webhook. The status of the response is printed, or an error after ten seconds; there are no',
    'retries. Ctrl-C stops the command and prints the option with which to continue.',
  ].join('\n'),
  async run(cli, options) {
    const { forward, secret = newSecret(), json } = options
    const types: ReadonlySet<string> = new Set(options.types)
    const api = openApi(cli, options)
    let last = options.after
    try {
      last ??= await findNewest(api)
      cli.terminal.log(`Signing secret: ${secret}\nForwarding events from ${api.url} to ${forward} ...`)
      for await (const event of readFeed(cli, api, { after: last, isFromApi: options.after === undefined })) {
        if (types.has('*') || types.has(event.type)) show(cli, await send(event, { forward, secret }), json)
        last = event.id
        cli.stopping.throwIfAborted()
      }
    } catch (error) {
      if (!cli.stopping.aborted) throw error
    }
    if (last !== undefined) cli.terminal.log(`To continue from here: --after ${last}`)
    return exitCodes.success
  },
})

interface Page {
  data: Event[]
}

interface FeedPosition {
  /** Undefined: the beginning of the feed. */
  after: EventId | undefined
  /** False for an event id from --after, which may be wrong. */
  isFromApi: boolean
}

/** Yields all events after the position, in order, and polls for new ones. */
async function* readFeed({ stopping }: CliContext, api: Api, start: FeedPosition): AsyncGenerator<Event> {
  for (let position = start; ; ) {
    const events = await readPage(api, position)
    position = { after: events.at(-1)?.id ?? position.after, isFromApi: true }
    yield* events
    if (events.length === 0) await sleep(pollMs, undefined, { signal: stopping })
  }
}

async function findNewest(api: Api): Promise<EventId | undefined> {
  const { data } = (await api.getWithRetry('/events?limit=1')) as Page
  return data[0]?.id
}

/** Returns the next page, or the first page if the event `after` was deleted: all remaining events are newer then. */
async function readPage(api: Api, { after, isFromApi }: FeedPosition): Promise<Event[]> {
  const firstPage = '/events?sort=createdAt&limit=100'
  if (after === undefined) return ((await api.getWithRetry(firstPage)) as Page).data
  try {
    return ((await api.getWithRetry(`/events?after=${after}&limit=100`)) as Page).data
  } catch (error) {
    const isDeleted = error instanceof ApiError && error.issues.some(({ path }) => path === 'after')
    if (!isFromApi || !isDeleted) throw error
    return ((await api.getWithRetry(firstPage)) as Page).data
  }
}

interface ForwardedEvent {
  event: Event
  /** Null if there was no response; `error` has the reason. */
  status: number | null
  error: string | null
  durationMs: number
}

async function send(event: Event, { forward, secret }: { forward: string; secret: string }): Promise<ForwardedEvent> {
  const body = serializeEvent({ ...event, data: JSON.stringify(event.data) })
  const startedAt = performance.now()
  const outcome = await fetch(forward, {
    method: 'POST',
    headers: signBody({ eventId: event.id, body }, [secret]),
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(responseTimeoutMs),
  }).then(
    async (response) => {
      await response.body?.cancel()
      return { status: response.status, error: null }
    },
    (error: unknown) => ({ status: null, error: reasonOf(error) }),
  )
  return { event, ...outcome, durationMs: Math.round(performance.now() - startedAt) }
}

function show({ terminal }: CliContext, { event, status, error, durationMs }: ForwardedEvent, asJson: boolean) {
  const { id, type } = event
  if (asJson) return terminal.print(JSON.stringify({ id, type, status, error, durationMs }))
  const isSuccess = status !== null && status >= 200 && status < 300
  const outcome = terminal.style(isSuccess ? 'green' : 'red', String(status ?? error))
  terminal.print(`${event.timestamp}  ${id}  ${type.padEnd(26)}  ${outcome}  ${durationMs} ms`)
}
