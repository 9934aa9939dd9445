/** What a party of a shared installation sends to slow down the others. */
import { createSocket } from 'node:dgram'
import { signMessage } from '../mail-providers/provider-messages.ts'
import { openSmtpConversation } from './smtp-conversation.ts'

/** A name server that responds to nothing. */
export async function startSilentNameServer() {
  const socket = createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return { address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() }
}

/** Three connections to the listener for bounces, each with a kind of hostile mail, send one after the other to return paths. */
export async function sendHostileMails(port: number, paths: readonly string[], isOver: () => boolean): Promise<void> {
  const fill = (line: string) => line.repeat(Math.floor((504 * 1024) / line.length))
  const head = 'From: MAILER-DAEMON@mx.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'
  const [parts, lines] = [fill('--b\r\n\r\n'), `${'x'.repeat(24)}\r\n`.repeat(19_000)]
  const addresses = `X-Failed-Recipients: ${'x,'.repeat(65_000)}\r\n\r\n550 5.1.1 unknown`
  const mails = [`${head}${parts}`, `${head}${lines}`, addresses]
  const send = async (mail: string) => {
    const smtp = await openSmtpConversation(port)
    for (const command of ['EHLO mx.example', 'MAIL FROM:<>', ...paths.map((path) => `RCPT TO:<${path}>`), 'DATA'])
      await smtp.send(command)
    await smtp.send(`${mail}\r\n.`)
    smtp.close()
  }
  await Promise.all(
    Array.from({ length: 3 }, async (_, at) => {
      while (!isOver()) await send(mails[at % mails.length] ?? '')
    }),
  )
}

/** A signed message of Twilio SendGrid with 8,000 bounces, to addresses of the given form. */
export function composeLargeMessage(message: number, toEmail: (at: number) => string) {
  const events = Array.from({ length: 8_000 }, (_, at) => ({
    event: 'bounce',
    email: toEmail(at),
    status: '5.1.1',
    sg_message_id: `m${message}-${at}.1`,
  }))
  const { body, headers } = signMessage.sendgrid(events)
  return { body: Buffer.from(body), headers }
}
