/** The baseline of emails to one person: a nodemailer pool that composes each. Arguments: port, number of emails. */
import { createTransport } from 'nodemailer'
import { composeReceipt } from './receipt.ts'

const [port, count = 0] = process.argv.slice(2).map(Number)
const transport = createTransport({
  host: '127.0.0.1',
  port,
  pool: true,
  maxConnections: 5,
  maxMessages: Number.POSITIVE_INFINITY,
})
const startedAt = performance.now()
let next = 0
await Promise.all(
  Array.from({ length: 20 }, async () => {
    while (next < count) {
      next += 1
      const name = `person-${next}`
      await transport.sendMail({ from: 'bench@example.com', to: `${name}@example.com`, ...composeReceipt(name) })
    }
  }),
)
process.send?.({ tookMs: performance.now() - startedAt })
transport.close()
process.disconnect?.()
