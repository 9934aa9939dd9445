import { Readable } from 'node:stream'

/**
 * Streams a text page by page in constant memory. `readPage` returns null after the last page. Calls `close` as soon as
 * all pages are read, or when the stream is destroyed. A reader that takes no page for `idleMs` destroys it: otherwise
 * a client that stops reading would keep the source open.
 */
export function streamPages(
  { readPage, close }: { readPage: () => Promise<string | null>; close: () => void },
  { idleMs }: { idleMs: number },
): Readable {
  const endStalled = () => void stream.destroy(new Error(`The client has read nothing for ${idleMs / 1_000} seconds`))
  let timer = setTimeout(endStalled, idleMs)
  function deliver(page: string | null) {
    if (stream.destroyed) return
    if (page === null) close()
    else timer = setTimeout(endStalled, idleMs)
    stream.push(page)
  }
  const stream = new Readable({
    read() {
      clearTimeout(timer)
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
