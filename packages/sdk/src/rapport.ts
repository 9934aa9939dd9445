import { Client } from './client.ts'
import { EventsWithFollow } from './events.ts'
import { Resources } from './generated/operations.gen.ts'
import { ImportsWithWait } from './imports.ts'
import type { RapportOptions } from './options.ts'
import { WebhooksWithUnwrap } from './webhooks.ts'

/**
 * The client of a workspace. Its methods are the operations of the API: `rapport.contacts.create({ email })`.
 *
 * Every POST has an `Idempotency-Key`. Network errors, timeouts, 408, 429, 5xx and 409 with `retry-after` are repeated
 * with exponential backoff, under the same key.
 */
export class Rapport extends Resources {
  override readonly events: EventsWithFollow
  override readonly imports: ImportsWithWait
  override readonly webhooks: WebhooksWithUnwrap

  /** Throws a TypeError if an option is invalid. Sends no request. */
  constructor(options: RapportOptions) {
    const client = new Client(options)
    super(client)
    this.events = new EventsWithFollow(client)
    this.imports = new ImportsWithWait(client)
    this.webhooks = new WebhooksWithUnwrap(client)
  }
}
