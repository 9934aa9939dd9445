/**
 * SMTP connections that are kept and lent out, a mail at a time. On nodemailer's connection, without its mailer: that
 * would parse and stream each message several times over, and re-queue mails by itself.
 */
import type { Transform } from 'node:stream'
import { parseConnectionUrl } from 'nodemailer/lib/shared'
import SMTPConnection from 'nodemailer/lib/smtp-connection'

export interface Envelope {
  from: string
  to: string[]
}

export interface SmtpPool {
  /**
   * Hands one message, whose lines all end in CRLF, to the server, and resolves when it has taken it. `onBegin`: the server
   * has asked for the message, so that from now on nobody knows, should no answer come. Rejects with the error of the connection.
   */
  send(envelope: Envelope, message: Buffer, onBegin: () => void): Promise<void>
  close(): void
}

const timeouts = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 30_000 }

export function openSmtpPool(smtpUrl: string, size: number): SmtpPool {
  const { auth, ...options } = parseConnectionUrl(smtpUrl)
  const alive = new Set<SMTPConnection>()
  const idle: SMTPConnection[] = []
  const waiting: ((connection: SMTPConnection | undefined) => void)[] = []
  let unused = size

  /** A connection that is idle, or the right to open one (undefined). */
  function acquire(): Promise<SMTPConnection | undefined> | SMTPConnection | undefined {
    const connection = idle.pop()
    if (connection) return connection
    if (unused === 0) return new Promise((resolve) => waiting.push(resolve))
    unused -= 1
    return undefined
  }

  function release(connection: SMTPConnection | undefined) {
    const kept = connection && alive.has(connection) ? connection : undefined
    const next = waiting.shift()
    if (next) next(kept)
    else if (kept) idle.push(kept)
    else unused += 1
  }

  async function connect(): Promise<SMTPConnection> {
    const connection = new SMTPConnection({ ...options, ...timeouts })
    // Of an error in the middle of a mail its own callback hears.
    connection.on('error', () => {})
    connection.once('end', () => {
      alive.delete(connection)
      const at = idle.indexOf(connection)
      if (at < 0) return
      idle.splice(at, 1)
      unused += 1
    })
    await new Promise<void>((resolve, reject) => {
      connection.once('error', reject)
      connection.once('end', () => reject(new Error('Connection closed')))
      connection.connect((error) => (error ? reject(error) : resolve()))
    })
    alive.add(connection)
    if (auth && connection.allowsAuth) await logIn(connection)
    return connection
  }

  async function logIn(connection: SMTPConnection) {
    const { user = '', pass = '' } = auth as { user?: string; pass?: string }
    await new Promise<void>((resolve, reject) => {
      connection.once('end', () => reject(new Error('Connection closed')))
      connection.login({ user, credentials: { user, pass } }, (error) => (error ? reject(error) : resolve()))
    }).catch((error: unknown) => {
      connection.close()
      throw error
    })
  }

  return {
    async send(envelope, message, onBegin) {
      let connection = await acquire()
      let hasBegun = false
      const begin = () => {
        hasBegun = true
        onBegin()
      }
      try {
        // The server may have closed a connection while it was idle: what surely was not sent goes out on a fresh one.
        const isGone =
          connection &&
          (await submit(connection, { envelope, message, begin }).then(
            () => 'sent' as const,
            (error: unknown) => {
              if (hasBegun || (error as SmtpError).responseCode !== undefined) throw error
              return 'gone' as const
            },
          ))
        if (isGone === 'sent') return
        connection = undefined
        connection = await connect()
        await submit(connection, { envelope, message, begin })
      } finally {
        release(connection)
      }
    },
    close() {
      for (const connection of alive) connection.close()
    },
  }
}

interface SmtpError extends Error {
  responseCode?: number
}

interface Submission {
  envelope: Envelope
  message: Buffer
  begin: () => void
}

const dotAtStart = '\n.'

async function submit(connection: SMTPConnection, { envelope, message, begin }: Submission): Promise<void> {
  // Read only once the server has answered DATA.
  const source = {
    pipe(wire: Transform) {
      begin()
      // Nodemailer looks at each byte for dots to double, which would be half of what a mail costs here. Where there are none
      // to double, the message goes by that: to the far end of its stream.
      if (message.includes(dotAtStart)) wire.write(message)
      else wire.push(message)
      wire.end()
    },
  }
  try {
    await new Promise<void>((resolve, reject) => {
      connection.send(envelope, source as never, (error) => (error ? reject(error) : resolve()))
    })
  } catch (error) {
    // Refused with a code, the connection is good for the next mail, once it has forgotten this one.
    const { responseCode } = error as SmtpError
    if (responseCode === undefined || responseCode === 421 || !(await reset(connection))) connection.close()
    throw error
  }
}

function reset(connection: SMTPConnection): Promise<boolean> {
  return new Promise((resolve) => {
    connection.once('end', () => resolve(false))
    connection.reset((error) => resolve(!error))
  })
}
