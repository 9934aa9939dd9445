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

interface Position {
  /** Null: before the oldest event. */
  after: string | null
  /** False until the API has accepted the id from the caller, which may be wrong. */
  isAccepted: boolean
}

const defaultPollMs = 1_000
const limit = 100

/** The operations of events, and a loop over the feed. */
export class EventsWithFollow extends Events {
  /**
   * Calls the handler with each event after the given one, in order and one at a time, and then with each new event.
   *
   * Store the id of each event that you have handled, and pass it as `after` when your program starts again. While the
   * API is unavailable, the requests are repeated.
   *
   * @param after The id of the last event that was handled, or null to start with the oldest event of the feed.
   * @returns The id of the last event that was handled, once the signal is aborted.
   * @throws The error of the handler, or an ApiError that is not temporary.
   */
  async follow(
    after: string | null,
    handler: (event: WebhookEvent) => unknown,
    options: FollowOptions = {},
  ): Promise<string | null> {
    const { signal, pollMs = defaultPollMs } = options
    let position: Position = { after, isAccepted: false }
    for (;;) {
      const events = await this.#readPage(position, options).catch((error: unknown) => {
        if (!signal?.aborted) throw error
      })
      if (events?.length === 0) await sleep(pollMs, signal).catch(() => {})
      if (!events || signal?.aborted) return position.after
      position = { ...position, isAccepted: true }
      for (const event of events) {
        await handler(event)
        position = { after: event.id, isAccepted: true }
        if (signal?.aborted) return position.after
      }
    }
  }

  /** Repeats the request until it succeeds. */
  async #readPage({ after, isAccepted }: Position, { signal, type, onError }: FollowOptions): Promise<WebhookEvent[]> {
    const read = async (start: EventsListData['query']) => {
      const options = { signal, maxRetries: Infinity, onRetry: onError }
      return (await this.list({ limit, ...(type && { type }), ...start }, options)).data as WebhookEvent[]
    }
    const readOldest = () => read({ sort: 'createdAt' })
    if (after === null) return readOldest()
    return read({ after }).catch((error: unknown) => {
      // The event is older than the feed keeps, so all events that remain are newer.
      if (isAccepted && isDeleted(error)) return readOldest()
      throw error
    })
  }
}

const isDeleted = (error: unknown) =>
  error instanceof ValidationError && error.issues.some(({ path }) => path === 'after')
