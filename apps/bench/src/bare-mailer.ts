/** The baseline of campaigns: a nodemailer pool that sends prebuilt messages. Arguments: port, number of messages. */
import { buffer } from 'node:stream/consumers'
import { createTransport } from 'nodemailer'
import MailComposer from 'nodemailer/lib/mail-composer'
import { newsletter } from './newsletter.ts'

const [port, count] = process.argv.slice(2).map(Number)
const messageCount = 200

const messages = await Promise.all(Array.from({ length: messageCount }, (_, n) => build(n)))
const transport = createTransport({
  host: '127.0.0.1',
  port,
  pool: true,
  maxConnections: 20,
  maxMessages: Number.POSITIVE_INFINITY,
})
const startedAt = performance.now()
const before = process.cpuUsage()
let next = 0
await Promise.all(
  Array.from({ length: 40 }, async () => {
    while (next < (count ?? 0)) {
      const raw = messages[next % messageCount] ?? ''
      next += 1
      await transport.sendMail({ raw, envelope: { from: 'bench@example.com', to: [`reader-${next}@example.com`] } })
    }
  }),
)
const { user, system } = process.cpuUsage(before)
process.send?.({ tookMs: performance.now() - startedAt, cpuMs: (user + system) / 1_000 })
transport.close()
process.disconnect?.()

function build(n: number): Promise<Buffer> {
  const name = `Person ${n}`
  const html = newsletter
    .replaceAll('{{ contact.firstName }}', name)
    .replaceAll('{{ contact.lastName }}', 'Number')
    .replaceAll('{{ unsubscribeUrl }}', `https://example.com/public/unsubscribe?token=${'x'.repeat(300)}`)
  const text = html.replace(/<[^>]*>/g, ' ')
  const mail = { from: 'bench@example.com', to: `reader-${n}@example.com`, subject: `News for ${name}`, html, text }
  return buffer(new MailComposer(mail).compile().createReadStream())
}
