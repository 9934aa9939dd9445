import { SMTPServer } from 'smtp-server'
import type { SMTPServerDataStream } from 'smtp-server'
import type { MailStore } from './mail-store.ts'

const maxMessageBytes = 50 * 1024 * 1024

/** Stores every mail that it receives and forwards none. Listens on loopback only. */
export async function startSmtp(store: MailStore, port: number): Promise<{ stop(): Promise<void> }> {
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    hideSTARTTLS: true,
    // Otherwise it queries DNS for the name of each client.
    disableReverseLookup: true,
    maxAllowedUnauthenticatedCommands: false,
    size: maxMessageBytes,
    // A client that stays connected must not delay the stop.
    closeTimeout: 1_000,
    onData(stream, session, callback) {
      const { mailFrom, rcptTo } = session.envelope
      const envelope = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) }
      readMessage(stream)
        .then((message) => store.add(message, envelope))
        .then(() => callback(), callback)
    },
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
  // Errors of single connections are ignored.
  server.removeAllListeners('error')
  server.on('error', () => {})
  return { stop: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

async function readMessage(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  // SMTP cannot interrupt the sender, so a message that is too large is read to its end and discarded.
  for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk as Buffer)
  if (stream.sizeExceeded) throw Object.assign(new Error('Message exceeds 50 MiB'), { responseCode: 552 })
  return Buffer.concat(chunks)
}
