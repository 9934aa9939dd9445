/** A raw SMTP client, for what a mail program would never send. */
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

export interface SmtpConversation {
  /** The greeting of the server. */
  readonly greeting: string
  /** Sends a command, or a whole message, and returns the response to it, with all of its lines. */
  send(command: string): Promise<string>
  /** Sends several commands at once and returns their responses. */
  sendPipelined(commands: string, count: number): Promise<string[]>
  /** Sends a part of a message, to which there is no response. */
  write(part: string): void
  close(): void
}

export async function openSmtpConversation(port: number): Promise<SmtpConversation> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()

  /** Empty after the server has closed the connection. */
  async function readResponse(): Promise<string> {
    const read: string[] = []
    for (;;) {
      const { value, done } = await lines.next()
      if (done) return read.join('\n')
      read.push(value)
      if (/^\d{3} /.test(value)) return read.join('\n')
    }
  }

  const greeting = await readResponse()
  return {
    greeting,
    send(command) {
      socket.write(`${command}\r\n`)
      return readResponse()
    },
    async sendPipelined(commands, count) {
      socket.write(commands)
      const responses: string[] = []
      while (responses.length < count) responses.push(await readResponse())
      return responses
    },
    write: (part) => void socket.write(part),
    close: () => void socket.destroy(),
  }
}
