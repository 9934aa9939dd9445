/**
 * Attacks the consent of a running installation over HTTP: six actors at once, campaigns meanwhile, workers that are
 * killed. Then everything that was observed is judged: mails, responses, events and statuses.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { providerSecrets } from '@rapport/testing/mail-providers/provider-messages.ts'
import { createRandom } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { countOpenWork, type Stack } from '../stack.ts'
import { type Campaigns, createCampaigns } from './campaigns.ts'
import type { Finding } from './findings.ts'
import { judge } from './judge.ts'
import { judgeStatuses } from './judge-statuses.ts'
import type { Request } from './log.ts'
import { createPerson, type Person } from './people.ts'
import { readStatuses } from './statuses.ts'
import { verbsOfFiles } from './verbs-of-files.ts'
import { subscribe, verbsOfOperators } from './verbs-of-operators.ts'
import { type Verb, verbsOfPeople } from './verbs-of-people.ts'
import { createNewsletterList, pick, type World } from './world.ts'

export interface AttackOptions {
  seed: number
  seconds: number
  /** How long a mail may take after it was asked whether it may go, besides the conversation. */
  permittedMs: number
  /** Whether there are two APIs, and killed workers are replaced. Processes take seconds to start. */
  isLong: boolean
}

export interface AttackResult {
  findings: Finding[]
  lists: string[]
  requests: number
  mails: number
  people: number
  /** From the last request until all mails were sent and all statuses read. */
  endMs: number
}

const actors = 6
const present = 12
const verbsPerPerson = 20

const verbs: Record<string, Verb> = { ...verbsOfPeople, ...verbsOfOperators, ...verbsOfFiles }
/** What consents, leaves and returns comes more often than the rest. */
const often = [
  'confirm',
  'confirm',
  'link',
  'link',
  'link',
  'undo',
  'undo',
  'undo',
  'oneClick',
  'leave',
  'optOut',
  'signUp',
]
const names = [...Object.keys(verbs), ...often]

export async function attack(stack: Stack, options: AttackOptions): Promise<AttackResult> {
  const receiver = await startHttpReceiver()
  const world = await createWorld(stack, { ...options, receiverUrl: receiver.url })
  const people = [await createBystander(world)]
  const campaigns = createCampaigns({ stack, world, people, permittedMs: options.permittedMs })
  const deadline = Date.now() + options.seconds * 1000
  const isOver = () => Date.now() > deadline
  try {
    await Promise.all([
      ...Array.from({ length: actors }, () => actUntil(isOver, { world, people })),
      sendUntil(isOver, campaigns),
      killUntil(isOver, stack, options),
    ])
    const actedAt = Date.now()
    await Promise.all(world.imports)
    await waitUntil(async () => (await countOpenWork(stack)) === 0, { describe: 'all is done', timeoutMs: 120_000 })
    for (const person of people) await readStatuses(world, person)
    const audience = await campaigns.sendLast()
    const endMs = Date.now() - actedAt
    campaigns.readMails()
    noteEvents(people, receiver.requests)
    const lists = world.lists.map(({ id }) => id)
    const violations = people.flatMap(({ log }) => judge(log, lists))
    const failures = world.failures
      .filter(({ request }) => !isBusy(request))
      .map(({ request, person }) => ({ request, log: person.log }))
    return {
      findings: [
        ...violations.map((violation) => ({ kind: 'violation', ...violation }) as const),
        ...failures.map((failure) => ({ kind: 'failure', ...failure }) as const),
        ...people.flatMap(({ log }) => judgeStatuses(log)).map((wrong) => ({ kind: 'status', ...wrong }) as const),
        ...audience,
      ],
      lists,
      endMs,
      requests: people.reduce((sum, { log }) => sum + log.requests.length, 0),
      mails: stack.inbox.mails.length,
      people: people.length,
    }
  } finally {
    await receiver.close()
  }
}

/** A machine that is busy has no connection to PostgreSQL in time, which is a 503 too. */
const isBusy = ({ status, sentAt, endedAt }: Request) => status === 503 && endedAt - sentAt > 2_500

async function createWorld(
  stack: Stack,
  { seed, isLong, receiverUrl }: AttackOptions & { receiverUrl: string },
): Promise<World> {
  const { api } = stack
  const { key } = await api.createWorkspace()
  const hook = await api.call<{ id: string }>('POST', '/mail-hooks', {
    key,
    body: { provider: 'postmark', secret: providerSecrets.postmark },
  })
  await api.call('POST', '/webhooks', { key, body: { url: receiverUrl, eventTypes: ['subscription.confirmed'] } })
  const lists = [
    await createNewsletterList(api, key, 'Engines weekly'),
    await createNewsletterList(api, key, 'Invitations'),
  ] as const
  const apis = [api, ...(isLong ? [await stack.startAnotherApi()] : [])]
  return { apis, key, hookId: hook.body.id, lists, random: createRandom(seed), imports: [], failures: [] }
}

/**
 * One of the actors. A quarter of the people are crowded: any actor acts for them at any time. For the others, one
 * request follows the other.
 */
async function actUntil(isOver: () => boolean, { world, people }: { world: World; people: Person[] }) {
  while (!isOver()) {
    const person = choosePerson(world, people)
    const verb = verbs[pick(world.random, names) ?? '']
    const acting = verb?.(world, person)
    // Not applicable: for example no mail has come yet.
    if (!acting) {
      await pause(1)
      continue
    }
    person.acting += 1
    person.verbs += 1
    try {
      await acting
    } finally {
      person.acting -= 1
    }
  }
}

/** Stays on both lists, so that each campaign has a recipient. */
async function createBystander(world: World): Promise<Person> {
  const person = createPerson('bystander', false)
  person.verbs = Infinity
  for (const { id: list } of world.lists) await subscribe(world, person, { list, email: person.addresses[0] })
  return person
}

/** Returns one of those present. Those who have done enough are left alone until the end. */
function choosePerson(world: World, people: Person[]): Person {
  const active = people.filter((person) => person.verbs < verbsPerPerson)
  const free = active.filter(({ isCrowded, acting }) => isCrowded || acting === 0)
  if (active.length >= present && free.length > 0) return pick(world.random, free) as Person
  const person = createPerson(`person-${people.length}`, people.length % 4 === 0)
  people.push(person)
  return person
}

async function sendUntil(isOver: () => boolean, campaigns: Campaigns): Promise<void> {
  while (!isOver()) {
    await campaigns.send()
    campaigns.readMails()
    await pause(150)
  }
}

/** Kills one of two workers at a third of the time, or every five seconds and replaces it. */
async function killUntil(isOver: () => boolean, stack: Stack, { isLong, seconds }: AttackOptions): Promise<void> {
  const everyMs = isLong ? 5_000 : (seconds * 1000) / 3
  for (let at = Date.now() + everyMs; !isOver(); await pause(20)) {
    const running = stack.workers.filter(({ isRunning }) => isRunning)
    if (Date.now() < at || running.length < 2) continue
    running[0]?.kill('SIGKILL')
    // On a busy machine it may not start in time: then the other worker continues alone.
    if (isLong) await stack.startWorker().catch(() => undefined)
    at = Date.now() + everyMs
  }
}

/** An event says that a contact is confirmed at its moment. */
function noteEvents(people: readonly Person[], requests: readonly { body: Buffer }[]): void {
  for (const { body } of requests) {
    const { timestamp, data } = JSON.parse(body.toString()) as {
      timestamp: string
      data: { contactId: string; listId: string }
    }
    const at = Date.parse(timestamp)
    const { contactId, listId: list } = data
    const observation = { what: 'subscription.confirmed', address: '', contactId, list, notBefore: at, at: at + 1 }
    for (const { contactIds, log } of people) if (contactIds.has(contactId)) log.observations.push(observation)
  }
}
