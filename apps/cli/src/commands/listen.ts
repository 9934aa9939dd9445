import { setTimeout as sleep } from 'node:timers/promises'
import { eventTypes } from '@rapport/core/events/event-definition.ts'
import { type EventId, Id } from '@rapport/core/kernel/ids.ts'
import type { Event } from '@rapport/core/webhooks/event-feed.schema.ts'
import { serializeEvent, newSecret, signBody } from '@rapport/core/webhooks/signature.ts'
import { z } from 'zod'
import { type Api, ApiRefused, apiOptions, openApi, reasonOf } from '../api-client.ts'
import { defineCommand, exitCodes, flag, option, type CliContext } from '../command.ts'

/** Below the limit of a hundred a minute. */
const pollMs = 1_000
/** As of a webhook's one attempt. */
const answerTimeoutMs = 10_000

const Types = z
  .string()
  .transform((text) => text.split(',').map((type) => type.trim()))
  .pipe(z.array(z.enum([...eventTypes, '*'], { error: `must be among ${eventTypes.join(', ')}` })))

export const listen = defineCommand({
  name: 'listen',
  summary: 'Forwards events to a program on this machine, signed like a webhook',
  options: z.strictObject({
    forward: z
      .url({ protocol: /^https?$/, error: 'must be an http or https address' })
      .meta(option('<url>', 'Where each event is POSTed to')),
    types: Types.default(['*']).meta(
      option('<types>', 'Which, by commas, such as contact.created,deal.won (default: all)'),
    ),
    secret: z
      .string()
      .regex(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/, 'must be whsec_ and at least 24 bytes in base64')
      .optional()
      .meta(option('<whsec_…>', 'What to sign with (default: a new one, which is shown)')),
    after: Id('evt').optional().meta(option('<evt_…>', 'Goes on after this event (default: from now on)')),
    json: z.boolean().default(false).meta(flag('Prints a line of JSON for each event')),
    ...apiOptions,
  }),
  notes: [
    'It reads the feed of events (GET /events), so that it needs nothing but an API key of any role, works from behind any',
    'firewall, and misses nothing while the API restarts. Each event is forwarded once, in the order of the feed, with',
    'the body and the headers that a webhook would have; any answer, or none within ten seconds, is shown and that was it.',
    'Ctrl-C ends it, and shows how to go on from there.',
  ].join('\n'),
  async run(cli, options) {
    const { forward, secret = newSecret(), json } = options
    const types: ReadonlySet<string> = new Set(options.types)
    const api = openApi(cli, options)
    let last = options.after
    try {
      last ??= await findNewest(api)
      cli.terminal.tell(`Signing with ${secret}\nListening to ${api.url}, forwarding to ${forward} ...`)
      for await (const event of readFeed(cli, api, { after: last, isKnown: options.after === undefined })) {
        if (types.has('*') || types.has(event.type)) show(cli, await send(event, { forward, secret }), json)
        last = event.id
        cli.stopping.throwIfAborted()
      }
    } catch (error) {
      if (!cli.stopping.aborted) throw error
    }
    if (last !== undefined) cli.terminal.tell(`To go on from here: --after ${last}`)
    return exitCodes.good
  },
})

interface Page {
  data: Event[]
}

interface Place {
  /** Undefined: the beginning of the feed. */
  after: EventId | undefined
  /** Whether the API has named it, and not only the person. */
  isKnown: boolean
}

/** Every event after this place, in order and without end. */
async function* readFeed({ stopping }: CliContext, api: Api, start: Place): AsyncGenerator<Event> {
  for (let place = start; ; ) {
    const events = await readPage(api, place)
    place = { after: events.at(-1)?.id ?? place.after, isKnown: true }
    yield* events
    if (events.length === 0) await sleep(pollMs, undefined, { signal: stopping })
  }
}

async function findNewest(api: Api): Promise<EventId | undefined> {
  const { data } = (await api.follow('/events?limit=1')) as Page
  return data[0]?.id
}

/** What follows in the feed. An event that was known and is forgotten by now was older than all that there are. */
async function readPage(api: Api, { after, isKnown }: Place): Promise<Event[]> {
  const fromTheStart = '/events?sort=createdAt&limit=100'
  if (after === undefined) return ((await api.follow(fromTheStart)) as Page).data
  try {
    return ((await api.follow(`/events?after=${after}&limit=100`)) as Page).data
  } catch (error) {
    const isGone = error instanceof ApiRefused && error.issues.some(({ path }) => path === 'after')
    if (!isKnown || !isGone) throw error
    return ((await api.follow(fromTheStart)) as Page).data
  }
}

interface Sent {
  event: Event
  /** Null when there was none, for the reason in `error`. */
  status: number | null
  error: string | null
  durationMs: number
}

async function send(event: Event, { forward, secret }: { forward: string; secret: string }): Promise<Sent> {
  const body = serializeEvent({ ...event, data: JSON.stringify(event.data) })
  const startedAt = performance.now()
  const outcome = await fetch(forward, {
    method: 'POST',
    headers: signBody({ eventId: event.id, body }, [secret]),
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(answerTimeoutMs),
  }).then(
    async (response) => {
      await response.body?.cancel()
      return { status: response.status, error: null }
    },
    (error: unknown) => ({ status: null, error: reasonOf(error) }),
  )
  return { event, ...outcome, durationMs: Math.round(performance.now() - startedAt) }
}

function show({ terminal }: CliContext, { event, status, error, durationMs }: Sent, asJson: boolean) {
  const { id, type } = event
  if (asJson) return terminal.print(JSON.stringify({ id, type, status, error, durationMs }))
  const isGood = status !== null && status >= 200 && status < 300
  const outcome = terminal.style(isGood ? 'green' : 'red', String(status ?? error))
  terminal.print(`${event.timestamp}  ${id}  ${type.padEnd(26)}  ${outcome}  ${durationMs} ms`)
}
