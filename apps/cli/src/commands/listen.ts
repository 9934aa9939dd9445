import { type EventType, eventTypes } from '@rapport/core/events/event-definition.ts'
import type { EventId } from '@rapport/core/kernel/ids.ts'
import { EventTypeName } from '@rapport/core/webhooks/event-type-name.ts'
import { serializeEvent, newSecret, signBody } from '@rapport/core/webhooks/signature.ts'
import { type ForwardedEvent, isSuccess, showForwarded } from '../forwarding/forwarded-event.ts'
import { triggerEvent } from '../forwarding/trigger-event.ts'
import type { WebhookEvent } from '@rapport/sdk'
import { z } from 'zod'
import { apiOptions, openApi } from '../api-client.ts'
import { type CliContext, defineCommand, exitCodes, jsonFlag, option, usageError } from '../command.ts'
import { reasonOf } from '../describe-error.ts'
import { IdOption } from '../id-option.ts'

/** The timeout of a webhook delivery. */
const responseTimeoutMs = 10_000

const Types = z
  .string()
  .transform((text) => text.split(',').map((type) => type.trim()))
  .pipe(z.array(z.enum([...eventTypes, '*'], { error: `must be one of ${eventTypes.join(', ')}` })))

/** A string before it is an event type: the help does not list all of them. */
const Trigger = z.string().pipe(EventTypeName(eventTypes, `must be one of ${eventTypes.join(', ')}`))

const listenOptions = z.strictObject({
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
  after: IdOption('evt').optional().meta(option('<evt_…>', 'Starts after this event (default: new events only)')),
  trigger: Trigger.optional().meta(
    option('<type>', 'Has an example event of this type delivered to --forward, and ends'),
  ),
  json: jsonFlag('Prints one line of JSON per event'),
  ...apiOptions,
})

export const listen = defineCommand({
  options: listenOptions,
  notes: [
    'Reads the event feed (GET /events), so it needs only an API key of any role, works behind a firewall and misses',
    'no event while the API restarts. Each event is forwarded once, in the order of the feed, with the body and',
    'headers of a webhook. The status of the response is printed, or an error after ten seconds; there are no',
    'retries. Ctrl-C stops the command and prints the option with which to continue.',
    '',
    '--trigger takes the real way instead: a worker delivers the event to the webhook of the URL. If the workspace has',
    'none, the command creates one, prints its signing secret, and deletes it afterwards. No other webhook gets the',
    'event, but it is in the feed. The API key needs the role MEMBER.',
  ].join('\n'),
  async run(cli, options) {
    if (options.trigger !== undefined) return await trigger(cli, options, options.trigger)
    const { forward, secret = newSecret(), json } = options
    const types = options.types.filter((type) => type !== '*')
    const { url, rapport } = openApi(cli, options, { shouldRetryForever: true })
    const { stopping: signal, terminal } = cli
    let last: string | null = options.after ?? null
    try {
      // An id that a person types may be wrong; `follow` would go on with greater ones.
      if (last !== null) await rapport.events.get(last, { signal })
      last ??= (await rapport.events.list({ limit: 1 }, { signal })).data[0]?.id ?? null
      terminal.log(`Signing secret: ${secret}\nForwarding events from ${url} to ${forward} ...`)
      const forwardEvent = async (event: WebhookEvent) =>
        showForwarded(cli, await send(event, { forward, secret }), json)
      const type = types.length < options.types.length ? undefined : types
      last = await rapport.events.follow(last, forwardEvent, { signal, type })
    } catch (error) {
      if (!signal.aborted) throw error
    }
    if (last !== null) terminal.log(`To continue from here: --after ${last}`)
    return exitCodes.success
  },
})

type Options = z.output<typeof listenOptions>

/** Succeeds if the receiver does. */
async function trigger(cli: CliContext, options: Options, type: EventType): Promise<number> {
  for (const name of ['secret', 'after'] as const)
    if (options[name] !== undefined) throw usageError(`--${name}: is not possible with --trigger`)
  try {
    const forwarded = await triggerEvent(cli, openApi(cli, options), { forward: options.forward, type })
    showForwarded(cli, forwarded, options.json)
    return isSuccess(forwarded) ? exitCodes.success : exitCodes.failed
  } catch (error) {
    if (cli.stopping.aborted) return exitCodes.interrupted
    throw error
  }
}

async function send(
  event: WebhookEvent,
  { forward, secret }: { forward: string; secret: string },
): Promise<ForwardedEvent> {
  const body = serializeEvent({ ...event, data: JSON.stringify(event.data) })
  const startedAt = performance.now()
  const outcome = await fetch(forward, {
    method: 'POST',
    headers: signBody({ eventId: event.id as EventId, body }, [secret]),
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
