/**
 * The baselines of campaigns: a nodemailer pool. `prebuilt` sends bytes; `composed` composes each mail of the headers and the
 * encoded parts that a mail of Rapport has; `signed` also signs it. Arguments: port, number of messages, which baseline.
 */
import { generateKeyPairSync } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { encodePart, onePiece } from '@rapport/core/mail/mime.ts'
import { createTransport, type SendMailOptions } from 'nodemailer'
import MailComposer from 'nodemailer/lib/mail-composer'
import { newsletter } from './newsletter.ts'

const [port, count = 0] = process.argv.slice(2, 4).map(Number)
const kind = process.argv[4]
const messageCount = 200
const token = 'x'.repeat(300)

const rendered = Array.from({ length: messageCount }, (_, n) => render(n))
const prebuilt = kind === 'prebuilt' ? await Promise.all(rendered.map(build)) : []
const encoded = rendered.map(({ html, text }) => [
  Buffer.concat(encodePart('plain', onePiece(text))),
  Buffer.concat(encodePart('html', onePiece(html))),
])
const transport = createTransport({
  host: '127.0.0.1',
  port,
  pool: true,
  maxConnections: 20,
  maxMessages: Number.POSITIVE_INFINITY,
  ...(kind === 'signed' && { dkim: { domainName: 'example.com', keySelector: 'bench', privateKey: createKey() } }),
})
const startedAt = performance.now()
const before = process.cpuUsage()
let next = 0
await Promise.all(
  Array.from({ length: 40 }, async () => {
    while (next < count) {
      next += 1
      await transport.sendMail(mailOf(next))
    }
  }),
)
const { user, system } = process.cpuUsage(before)
process.send?.({ tookMs: performance.now() - startedAt, cpuMs: (user + system) / 1_000 })
transport.close()
process.disconnect?.()

function render(n: number) {
  const html = newsletter
    .replaceAll('{{ contact.firstName }}', `Person ${n}`)
    .replaceAll('{{ contact.lastName }}', 'Number')
    .replaceAll('{{ unsubscribeUrl }}', `https://example.com/public/unsubscribe?token=${token}`)
  return { n, html, text: html.replace(/<[^>]*>/g, ' ') }
}

function build({ n, html, text }: ReturnType<typeof render>): Promise<Buffer> {
  const to = `reader-${n}@example.com`
  const mail = { from: 'bench@example.com', to, subject: `News for Person ${n}`, html, text }
  return buffer(new MailComposer(mail).compile().createReadStream())
}

function mailOf(n: number): SendMailOptions {
  const address = `reader-${n}@example.com`
  const envelope = { from: 'bench@example.com', to: [address] }
  const raw = prebuilt[n % messageCount]
  if (raw) return { raw, envelope }
  return {
    from: { name: '', address: 'bench@example.com' },
    to: { name: `Person ${n} Number`, address },
    subject: `News for Person ${n}`,
    messageId: `<campaign.${n}@example.com>`,
    headers: {
      'List-Id': '<list.example.com>',
      'List-Unsubscribe': `<https://example.com/public/unsubscribe?token=${token}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Feedback-ID': 'campaign:workspace:campaign:bench',
    },
    envelope,
    alternatives: (encoded[n % messageCount] ?? []).map((raw) => ({ raw })),
  }
}

function createKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}
