/** What benches do with webhooks. */
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createContact } from '@rapport/core/contacts/create-contact.ts'
import { type Contact, contactExample, ContactInput } from '@rapport/core/contacts/contacts.schema.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Installation } from './installation.ts'
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

interface Backlog {
  /** As after a while at work: what it does often is compiled. */
  worker: ChildProcess
  fill: () => Promise<void>
  count: number
}

/** Deliveries per second from the first receipt to the last outcome, of a backlog that came while the worker stood still. */
export async function drain(
  installation: Installation,
  receiver: Receiver,
  { worker, fill, count }: Backlog,
): Promise<number> {
  worker.kill('SIGSTOP')
  try {
    await fill()
    await installation.client.query('analyze')
  } finally {
    worker.kill('SIGCONT')
  }
  await installation.untilDone()
  const lastAt = process.hrtime.bigint()
  const receipts = await receiver.takeReceipts()
  if (receipts.length !== count) throw new Error(`${receipts.length} of ${count} came`)
  const firstAt = receipts.map(([, , at]) => at).reduce((a, b) => (a < b ? a : b))
  return (count / Number(lastAt - firstAt)) * 1e9
}

/** When each contact was committed, by its id. */
export type Commits = Map<string, bigint>

export async function writeContact(ctx: Ctx, commits: Commits): Promise<void> {
  const { id } = await createContact(ctx, ContactInput.parse({ email: `${randomUUID()}@example.com` }))
  commits.set(id, process.hrtime.bigint())
}

/** From commit to receipt in milliseconds, of those receivers that answer. */
export async function latenciesOf({ client }: Installation, commits: Commits, receipts: Receipt[]): Promise<number[]> {
  const found = await client.query<{ id: string; contact: string }>(
    `select id, data ->> 'id' as contact from events where data ->> 'id' = any($1)`,
    [[...commits.keys()]],
  )
  const contactOf = new Map(found.rows.map(({ id, contact }) => [id, contact]))
  return receipts.flatMap(([path, id, at]) => {
    const committedAt = commits.get(contactOf.get(uuidOf(Id('evt').parse(id))) ?? '')
    return committedAt === undefined || path === '/hang' ? [] : [Number(at - committedAt) / 1e6]
  })
}
