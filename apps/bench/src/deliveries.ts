/** Webhook deliveries in benches. */
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type Agent, type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { type Contact, contactExample } from '@rapport/core/contacts/contacts.schema.ts'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import type { Installation, Workspace } from './installation.ts'
import type { Receipt } from './receiver.ts'

export const exampleContact: Contact = {
  ...contactExample,
  company: 'Analytical Engines',
  customFieldValues: { plan: 'pro' },
  tags: ['customer'],
  emailSubscribedStatus: 'SUBSCRIBED',
  lastActivityAt: contactExample.createdAt,
}

export interface Receiver {
  url: string
  takeReceipts(): Promise<Receipt[]>
}

/** Creates workspaces with webhooks for all events, to the paths /0, /1 and so on. */
export async function createWorkspacesWithWebhooks(
  installation: Installation,
  { url }: Pick<Receiver, 'url'>,
  count: { workspaces: number; webhooksEach: number },
): Promise<Workspace[]> {
  const workspaces: Workspace[] = []
  for (let n = 0; n < count.workspaces; n += 1) {
    const workspace = await installation.createWorkspace()
    for (let hook = 0; hook < count.webhooksEach; hook += 1)
      await createWebhook(workspace.ctx, { url: `${url}/${hook}`, eventTypes: ['*'] })
    workspaces.push(workspace)
  }
  return workspaces
}

interface Backlog {
  /** Running workers, ideally after a warm-up. */
  workers: ChildProcess[]
  fill: () => Promise<void>
  count: number
}

/** Pauses the workers while a backlog is created. Returns the deliveries per second, first receipt to last outcome. */
export async function drain(
  installation: Installation,
  receiver: Receiver,
  { workers, fill, count }: Backlog,
): Promise<number> {
  for (const worker of workers) worker.kill('SIGSTOP')
  try {
    await fill()
    await installation.client.query('analyze')
  } finally {
    for (const worker of workers) worker.kill('SIGCONT')
  }
  await installation.waitUntilDone()
  const lastAt = process.hrtime.bigint()
  const receipts = await receiver.takeReceipts()
  if (receipts.length !== count) throw new Error(`${receipts.length} of ${count} deliveries were received`)
  const firstAt = receipts.map(([, , at]) => at).reduce((a, b) => (a < b ? a : b))
  return (count / Number(lastAt - firstAt)) * 1e9
}

/** The time of each response, which follows the commit, by contact id. */
export type Commits = Map<string, bigint>

let writes = 0

/** Creates a contact through the API, which publishes the delivery. A process without a publisher leaves it to the poll. */
export async function writeContact(
  { url, agent, key }: { url: string; agent: Agent; key: string },
  commits: Commits,
): Promise<void> {
  writes += 1
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    // A client address for each request, because the rate limits remain enabled.
    'x-forwarded-for': `12.0.${(writes >> 8) & 255}.${writes & 255}`,
  }
  const sent = request(`${url}/contacts`, { method: 'POST', agent, headers })
  sent.end(JSON.stringify({ email: `${randomUUID()}@example.com` }))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const committedAt = process.hrtime.bigint()
  const { id } = (await json(response)) as { id: string }
  commits.set(id, committedAt)
}

/** Returns the latencies from commit to receipt for the receivers that respond. */
export async function computeLatenciesMs(
  { client }: Installation,
  commits: Commits,
  receipts: Receipt[],
): Promise<number[]> {
  const found = await client.query<{ id: string; contact: string }>(
    `select id, data ->> 'id' as contact from events where data ->> 'id' = any($1)`,
    [[...commits.keys()]],
  )
  const contactOf = new Map(found.rows.map(({ id, contact }) => [id, contact]))
  return receipts.flatMap(([path, id, at]) => {
    const committedAt = commits.get(contactOf.get(uuidOf(Id('evt').parse(id))) ?? '')
    return committedAt === undefined || path === '/hang' || path.startsWith('/slow')
      ? []
      : [Number(at - committedAt) / 1e6]
  })
}
