/** Sends what hostile parties send, until its parent process stops it. */
import { composeLargeMessage, sendHostileMails } from '@rapport/testing/network/hostile-parties.ts'
import { providerSecrets } from '@rapport/testing/mail-providers/provider-messages.ts'
import { call } from './installation.ts'
import { makeNoise } from './noise.ts'

/** What the process of the attack needs to know. */
export type Attack =
  /** Each domain is checked four times at once, each time with a new idempotency key. */
  | { kind: 'checks'; url: string; domains: { key: string; id: string }[] }
  /** Messages of 8,000 bounces are sent to a mail hook of the workspace with this API key, several at once. */
  | { kind: 'messages'; url: string; key: string; connections: number }
  /** Three connections send large bounces to return paths. */
  | { kind: 'bounces'; port: number; paths: string[] }

makeNoise((attack: Attack, isStopped) => {
  let count = 0
  const repeat = async (send: (count: number) => Promise<void>) => {
    while (!isStopped()) {
      count += 1
      await send(count)
    }
  }
  if (attack.kind === 'bounces') return sendHostileMails(attack.port, attack.paths, isStopped)
  return attack.kind === 'messages' ? sendMessages(attack, repeat) : checkDomains(attack, repeat)
})

type Repeat = (send: (count: number) => Promise<void>) => Promise<void>

async function checkDomains({ url, domains }: Attack & { kind: 'checks' }, repeat: Repeat): Promise<void> {
  const check = ({ key, id }: { key: string; id: string }) =>
    repeat((count) =>
      post(`${url}/domains/${id}/verify`, {
        headers: { authorization: `Bearer ${key}`, 'idempotency-key': `check ${count}` },
      }),
    )
  await Promise.all([...domains, ...domains, ...domains, ...domains].map(check))
}

/** The hook is created here, because this process has the key that signs the messages. */
async function sendMessages({ url, key, connections }: Attack & { kind: 'messages' }, repeat: Repeat): Promise<void> {
  const hook = { provider: 'sendgrid', secret: providerSecrets.sendgrid }
  const { id } = await call<{ id: string }>({ url }, key, ['POST /mail-hooks', hook])
  const send = () => repeat((count) => post(`${url}/mail-events/sendgrid/${id}`, composeLargeMessage(count, toEmail)))
  await Promise.all(Array.from({ length: connections }, send))
}

/** As `insertContacts` spells them. */
const toEmail = (at: number) => `person${at + 1}@${['example.com', 'mail.test', 'post.test'][(at + 1) % 3]}`

let posts = 0

/** Sends a request of an attack, from one of many clients, and ignores how it ends. */
async function post(
  url: string,
  { headers, body }: { headers: Record<string, string>; body?: Buffer<ArrayBuffer> },
): Promise<void> {
  posts += 1
  const client = `13.0.${(posts >> 8) & 255}.${posts & 255}`
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'x-forwarded-for': client },
    ...(body && { body }),
  }).catch(() => undefined)
  await response?.arrayBuffer()
}
