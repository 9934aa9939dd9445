/** Follows the event feed. */
import { type RapportError, ValidationError } from './errors.ts'
import { Events, type WebhookEvent } from './generated/operations.gen.ts'
import type { EventsListData } from './generated/types.gen.ts'
import { sleep } from './retry.ts'

export interface FollowOptions {
  /** Stops following. The handler of the current event still finishes. */
  signal?: AbortSignal | undefined
  /** Only events of these types. Default: all. */
  type?: NonNullable<EventsListData['query']>['type'] | undefined
  /** Milliseconds between requests while there is no new event. Default: 1,000. */
  pollMs?: number | undefined
  /** Called for each temporary failure, such as an API that is restarting. The request is then repeated. */
  onError?: ((error: RapportError) => void) | undefined
}

const defaultPollMs = 1_000
const limit = 100

/** The operations of events, and a loop over the feed. */
export class EventsWithFollow extends Events {
  /**
   * Calls the handler with each event after the given one, in order and one at a time, and then with each new event.
   *
   * Store the id of each event that you have handled, and pass it as `after` when your program starts again. While the
   * API is unavailable, the requests are repeated. If the API no longer has the last event, because of its age or
   * because a backup was restored, it continues with the events that are newer, also when your program starts again.
   *
   * @param after The id of the last event that was handled, or null to start with the oldest event of the feed.
   * @returns The id of the last event that was handled, once the signal is aborted.
   * @throws The error of the handler, or an ApiError that is not temporary: a ValidationError if `after` is no id of an event.
   */
  async follow(
    after: string | null,
    handler: (event: WebhookEvent) => unknown,
    options: FollowOptions = {},
  ): Promise<string | null> {
    const { signal, pollMs = defaultPollMs } = options
    let handled = after
    /** The event before the next page; null: read from the oldest event. */
    let position = after
    /** Set if the API no longer has the last event: older ids are skipped, as they have been handled. */
    let skippedUntil = ''
    for (;;) {
      const events = await this.#readPage(position, options).catch((error: unknown) => {
        if (signal?.aborted || (isEventId(position) && isMissing(error))) return undefined
        throw error
      })
      if (signal?.aborted) return handled
      if (!events) {
        skippedUntil = handled ?? ''
        position = null
        continue
      }
      if (events.length === 0) await sleep(pollMs, signal).catch(() => {})
      for (const event of events) {
        if (signal?.aborted) return handled
        position = event.id
        if (event.id <= skippedUntil) continue
        await handler(event)
        handled = event.id
      }
    }
  }

  /** Repeats the request until it succeeds. */
  async #readPage(after: string | null, { signal, type, onError }: FollowOptions): Promise<WebhookEvent[]> {
    const start: EventsListData['query'] = after === null ? { sort: 'createdAt' } : { after }
    const options = { signal, maxRetries: Infinity, onRetry: onError }
    return (await this.list({ limit, ...(type && { type }), ...start }, options)).data as WebhookEvent[]
  }
}

/** The API says of a text that is no id what it says of an event that it no longer has. */
const isEventId = (position: string | null) => /^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(position ?? '')

const isMissing = (error: unknown) =>
  error instanceof ValidationError && error.issues.some(({ path }) => path === 'after')
