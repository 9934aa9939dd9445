import { connect } from 'node:net'
import { freshAddress } from './testing.ts'

export interface SlowUpload {
  /** Resolves when the connection is closed. */
  readonly response: Promise<string>
  /** Sends the end of the body and resolves to the response. */
  end(): Promise<string>
  destroy(): void
}

/** Sends the head of `POST /contacts/import` and the first `size` bytes of a CSV. The rest follows with `end`. */
export function startSlowUpload(port: number, { key, size }: { key: string; size: number }): SlowUpload {
  const socket = connect(port, '127.0.0.1')
  const head = [
    'POST /contacts/import HTTP/1.1',
    'host: rapport',
    `authorization: Bearer ${key}`,
    `x-forwarded-for: ${freshAddress()}`,
    'content-type: text/csv',
    'transfer-encoding: chunked',
    'connection: close',
  ]
  const row = 'ada@example.com\n'
  const file = `email\n${row.repeat(Math.ceil(size / row.length))}`
  socket.write(`${head.join('\r\n')}\r\n\r\n${file.length.toString(16)}\r\n${file}\r\n`)
  const response = new Promise<string>((resolve) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (piece: string) => void (text += piece))
    socket.once('error', () => {}).once('close', () => resolve(text))
  })
  return {
    response,
    end() {
      socket.write('0\r\n\r\n')
      return response
    },
    destroy: () => void socket.destroy(),
  }
}
