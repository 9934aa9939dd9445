/**
 * Attacks the availability of an installation that several workspaces share: with three connections to the listener for
 * bounces, eight sign-ups, and forty messages of a mail provider. What another workspace notices is measured beside a
 * quiet time.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { providerSecrets, signMessage } from '@rapport/testing/mail-providers/provider-messages.ts'
import { composeLargeMessage, sendHostileMails } from '@rapport/testing/network/hostile-parties.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import type { Stack } from '../stack.ts'
import { newsletterHtml } from './people.ts'
import { createNewsletterList } from './world.ts'

export interface Attack {
  name: string
  /** What the other workspace waits for, in milliseconds. */
  quietMs: number
  attackedMs: number
  /** Responses to the other workspace that are no success. */
  refused: number
}

const recipients = 100

interface Options {
  bouncePort: number
  onEnd: (attack: Attack) => void
}

export async function attackAvailability(stack: Stack, { bouncePort, onEnd }: Options): Promise<Attack[]> {
  const { key } = await stack.api.createWorkspace()
  await stack.api.call('POST', '/contacts', { key, body: { email: 'ada@example.com' } })
  const campaign = await createCampaigns(stack, key)
  const reads = () => measureReads(stack, key)
  const checks = beside(reads, await createCheck(stack, key))
  const messages = beside(reads, await createMessage(stack, key))
  const attacks: Attack[] = []
  for (const [name, measure, attack] of [
    ['bounces with many parts, lines or addresses to ten return paths', campaign, await sendBounces(stack, bouncePort)],
    ['checks of domains whose name server is silent', checks, checkDomains(stack)],
    ['messages of a mail provider', messages, sendMessages(stack)],
  ] as const) {
    const ended = await compare(name, measure, attack)
    onEnd(ended)
    attacks.push(ended)
  }
  return attacks
}

interface Measured {
  ms: number
  refused: number
}

async function compare(
  name: string,
  measure: () => Promise<Measured>,
  attack: (isOver: () => boolean) => Promise<unknown>,
): Promise<Attack> {
  const quiet = await measure()
  let isOver = false
  const attacking = attack(() => isOver)
  await pause(500)
  const attacked = await measure()
  isOver = true
  await attacking
  return { name, quietMs: quiet.ms, attackedMs: attacked.ms, refused: quiet.refused + attacked.refused }
}

/** The 99th percentile of 200 reads, one after the other. */
async function measureReads({ api }: Stack, key: string): Promise<Measured> {
  const durations: number[] = []
  let refused = 0
  for (let count = 0; count < 200; count++) {
    const startedAt = performance.now()
    const { status } = await api.call('GET', '/contacts', { key })
    durations.push(performance.now() - startedAt)
    if (status !== 200) refused += 1
    await pause(10)
  }
  return { ms: durations.toSorted((one, other) => one - other)[197] ?? 0, refused }
}

type Call = () => Promise<{ status: number }>

/** Calls the route that is attacked too: its duration is that of DNS or of the message, but it must not be refused. */
const beside = (measure: () => Promise<Measured>, call: Call) => async (): Promise<Measured> => {
  const [{ ms, refused }, { status }] = await Promise.all([measure(), call()])
  return { ms, refused: status < 300 ? refused : refused + 1 }
}

async function createCheck({ api }: Stack, key: string): Promise<Call> {
  const { body } = await api.call<{ id: string }>('POST', '/domains', { key, body: { name: 'own.example' } })
  return () => api.call('POST', `/domains/${body.id}/verify`, { key })
}

async function createHook({ api }: Stack, key: string): Promise<string> {
  const body = { provider: 'sendgrid', secret: providerSecrets.sendgrid }
  return (await api.call<{ id: string }>('POST', '/mail-hooks', { key, body })).body.id
}

async function createMessage(stack: Stack, key: string): Promise<Call> {
  const id = await createHook(stack, key)
  const bounce = { event: 'bounce', email: 'own@example.com', status: '5.1.1', sg_message_id: 'own.1' }
  return () => {
    const { body, headers } = signMessage.sendgrid([bounce])
    return stack.api.call('POST', `/mail-events/sendgrid/${id}`, { raw: Buffer.from(body), headers })
  }
}

/** Returns a function that sends a campaign and measures how long it takes. */
async function createCampaigns({ api }: Stack, key: string): Promise<() => Promise<Measured>> {
  const list = await createNewsletterList(api, key, 'Engines weekly')
  for (let count = 0; count < recipients; count++) {
    const { body } = await api.call<{ id: string }>('POST', '/contacts', {
      key,
      body: { email: `p${count}@example.com` },
    })
    await api.call('POST', `/lists/${list.id}/subscribers`, { key, body: { contactId: body.id, status: 'CONFIRMED' } })
  }
  return async () => {
    const body = { name: 'News', subject: 'News', listId: list.id, html: newsletterHtml }
    const { id } = (await api.call<{ id: string }>('POST', '/campaigns', { key, body })).body
    const startedAt = performance.now()
    const { status } = await api.call('POST', `/campaigns/${id}/send`, { key })
    const isSent = async () =>
      (await api.call<{ sent: number }>('GET', `/campaigns/${id}/stats`, { key })).body.sent === recipients
    await waitUntil(isSent, { describe: 'the campaign is sent', timeoutMs: 120_000 })
    return { ms: performance.now() - startedAt, refused: status < 300 ? 0 : 1 }
  }
}

/** To return paths that the attacker has received. */
async function sendBounces(stack: Stack, port: number) {
  const { key } = await stack.api.createWorkspace()
  await (await createCampaigns(stack, key))()
  const paths = stack.inbox.mails.slice(-10).map(({ from }) => from)
  return (isOver: () => boolean) => sendHostileMails(port, paths, isOver)
}

/** Eight workspaces check a domain four times at once, each with an idempotency key. */
function checkDomains({ api }: Stack) {
  return async (isOver: () => boolean) => {
    const workspaces = await Promise.all(Array.from({ length: 8 }, () => api.createWorkspace()))
    let count = 0
    const check = async (key: string, id: string) => {
      while (!isOver()) {
        count += 1
        await api.call('POST', `/domains/${id}/verify`, { key, headers: { 'idempotency-key': `check ${count}` } })
      }
    }
    await Promise.all(
      workspaces.map(async ({ key }) => {
        const { id } = (await api.call<{ id: string }>('POST', '/domains', { key, body: { name: 'slow.example' } }))
          .body
        await Promise.all(Array.from({ length: 4 }, () => check(key, id)))
      }),
    )
  }
}

/** Four workspaces send ten messages with 8,000 events each to their own hooks. */
function sendMessages(stack: Stack) {
  return async () => {
    const hooks = await Promise.all(
      Array.from({ length: 4 }, async () => createHook(stack, (await stack.api.createWorkspace()).key)),
    )
    const send = async (message: number) => {
      const { body: raw, headers } = composeLargeMessage(message, (at) => `x${message}-${at}@example.com`)
      await stack.api.call('POST', `/mail-events/sendgrid/${hooks[message % hooks.length]}`, { raw, headers })
    }
    await Promise.all(Array.from({ length: 40 }, (_, at) => send(at)))
  }
}

export const describeAttack = ({ name, quietMs, attackedMs, refused }: Attack): string =>
  `${name}: ${Math.round(quietMs)} ms without, ${Math.round(attackedMs)} ms with them, ${refused} requests refused`
