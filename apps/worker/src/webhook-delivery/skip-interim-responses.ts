import type { Socket } from 'node:net'
import { errors } from 'undici'

const statusLineLength = 'HTTP/1.1 100'.length
const interim = /^HTTP\/1\.[01] 1(?!01)\d\d/
/** Of a head, and of all that are skipped. */
const maxHeadLength = 16_384

/**
 * Takes interim responses (RFC 9110, 15.2) out of what a server sends before its response: undici closes the connection at
 * `100 Continue`, which it never asked for. Its listener is called after this one, and reads what is put back. A server
 * that sends too many of them loses the connection.
 */
export function skipInterimResponses(socket: Socket): void {
  let pending = Buffer.alloc(0)
  let skipped = 0
  function readHead() {
    const chunk = socket.read() as Buffer | null
    if (chunk === null) return
    pending = Buffer.concat([pending, chunk])
    for (;;) {
      const line = pending.toString('latin1', 0, statusLineLength)
      const isIncomplete = line.length < statusLineLength && 'HTTP/1.'.startsWith(line.slice(0, 7))
      if (isIncomplete) return
      const end = interim.test(line) ? pending.indexOf('\r\n\r\n') : undefined
      if (end === -1 && pending.length < maxHeadLength) return
      if (end === undefined || end === -1) break
      pending = pending.subarray(end + 4)
      skipped += end + 4
      if (skipped > maxHeadLength) return void socket.destroy(new errors.HeadersOverflowError())
    }
    socket.off('readable', readHead)
    socket.unshift(pending)
  }
  socket.on('readable', readHead)
}
