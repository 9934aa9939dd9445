/** The baseline of webhook deliveries: a loop of POST requests without any bookkeeping. */
import { goodCertificate } from '@rapport/testing/network/certificates.ts'
import { Agent, request } from 'undici'
import { exampleContact, type Receiver } from './deliveries.ts'

const concurrency = 50

/** Sends `count` POST requests with the body of a delivery. Returns the requests per second. */
export async function runPostLoop(
  receiver: Receiver,
  { count, connections }: { count: number; connections: 'kept' | 'fresh' },
): Promise<number> {
  const agent = new Agent(receiver.url.startsWith('https:') ? { connect: { ca: goodCertificate } } : {})
  const body = JSON.stringify({ id: 'evt', type: 'contact.updated', timestamp: '', data: exampleContact })
  const headers = { 'content-type': 'application/json' }
  const options = { method: 'POST', headers, body, dispatcher: agent, reset: connections === 'fresh' } as const
  let left = count
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) await (await request(receiver.url, options)).body.dump()
    }),
  )
  const tookMs = performance.now() - startedAt
  await agent.close()
  await receiver.takeReceipts()
  return (count / tookMs) * 1000
}
