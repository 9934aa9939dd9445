import { Readable } from 'node:stream'

interface Limits {
  /** How long the client may pause. */
  idleMs: number
  /** How much it takes on average. The time of a pause is earned back with what it takes then. */
  bytesPerMs: number
}

/**
 * Streams a text page by page in constant memory. `readPage` returns null after the last page. Calls `close` as soon as
 * all pages are read, or when the stream is destroyed. A client that pauses for too long, or that is slow on average,
 * destroys it: otherwise, one that takes a page now and then would keep the source open for hours. The time that the
 * source takes does not count.
 */
export function streamPages(
  { readPage, close }: { readPage: () => Promise<string | null>; close: () => void },
  { idleMs, bytesPerMs }: Limits,
): Readable {
  const endSlow = () => void stream.destroy(new Error('The client reads too slowly'))
  let leftMs = idleMs
  let since = performance.now()
  let timer = setTimeout(endSlow, leftMs)
  function deliver(page: string | null) {
    if (stream.destroyed) return
    if (page === null) close()
    else {
      leftMs = Math.min(idleMs, leftMs + Buffer.byteLength(page) / bytesPerMs)
      since = performance.now()
      timer = setTimeout(endSlow, leftMs)
    }
    stream.push(page)
  }
  const stream = new Readable({
    read() {
      clearTimeout(timer)
      leftMs -= performance.now() - since
      readPage().then(deliver, (error: unknown) => this.destroy(error as Error))
    },
    destroy(error, done) {
      clearTimeout(timer)
      close()
      done(error)
    },
  })
  return stream
}
