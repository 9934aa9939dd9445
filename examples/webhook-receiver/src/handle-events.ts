import type { WebhookEvent } from '@rapport/sdk'
import type { Origin, Store } from './store.ts'

/**
 * The work of this example: replace it with yours. It writes with the connection of the store, so it takes effect
 * exactly once. Work elsewhere, such as sending an email, may be repeated after a crash: use `event.id` to detect that.
 */
function handleEvent(store: Store, event: WebhookEvent, origin: Origin): void {
  store.incrementTotal(event.type)
  console.log(event.type, 'email' in event.data ? event.data.email : event.id, `(${origin})`)
}

/**
 * Handles the events that the store has from before, and returns a function that handles new ones. An event whose
 * handler throws remains in the store with its error, and the next one is handled.
 */
export function startHandling(store: Store): () => void {
  let isHandling = false
  function handleEvents(): void {
    if (isHandling) return
    isHandling = true
    // One at a time, so that requests are answered in between.
    setImmediate(() => {
      isHandling = false
      if (store.handleNext((event, origin) => handleEvent(store, event, origin))) handleEvents()
    })
  }
  handleEvents()
  return handleEvents
}
