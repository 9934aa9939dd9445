/** Campaigns that are sent while people come and go, and one to each list at the end. */
import { waitUntil } from '@rapport/testing/wait.ts'
import type { Stack } from '../stack.ts'
import type { Finding } from './findings.ts'
import { newsletterHtml, type Person, readMail } from './people.ts'
import type { World } from './world.ts'

export type Campaigns = ReturnType<typeof createCampaigns>

interface Context {
  stack: Stack
  world: World
  people: readonly Person[]
  permittedMs: number
}

interface Stats {
  queued: number
  sent: number
  skipped: number
  pending: number
}

export function createCampaigns({ stack, world, people, permittedMs }: Context) {
  const { api, inbox } = stack
  const { key, lists } = world
  const sentAtOf = new Map<string, number>()
  let [count, readMails] = [0, 0]

  async function create(list: string): Promise<{ id: string; subject: string }> {
    count += 1
    const subject = `News ${count}`
    const body = { name: subject, subject, listId: list, html: newsletterHtml }
    const { id } = (await api.call<{ id: string }>('POST', '/campaigns', { key, body })).body
    return { id, subject }
  }

  async function send({ id, subject }: { id: string; subject: string }) {
    sentAtOf.set(subject, Date.now())
    return api.call<{ queued: number }>('POST', `/campaigns/${id}/send`, { key })
  }

  /** Sends to one list. It may have no subscribers. */
  async function sendNext(): Promise<void> {
    await send(await create(lists[count % lists.length]?.id ?? ''))
  }

  /** Notes each mail with its person: against what was said before the campaign, or early enough before the mail. */
  function readNewMails(): void {
    const byAddress = new Map(people.flatMap((person) => person.addresses.map((address) => [address, person] as const)))
    for (const mail of inbox.mails.slice(readMails)) {
      readMails += 1
      const address = mail.to[0] ?? ''
      const person = byAddress.get(address)
      const list = person && readMail(person, mail, lists)
      if (!person || list === undefined) continue
      const mustKnowBefore = mail.startedAt.getTime() - permittedMs
      const campaignSentAt = sentAtOf.get(mail.subject) ?? 0
      const notBefore = Math.max(campaignSentAt, mustKnowBefore)
      const at = mail.receivedAt.getTime()
      const what = `${mail.subject} is mailed`
      person.log.observations.push({ what, address, list, notBefore, at, campaignSentAt })
    }
  }

  /** When all actors have ended, each subscriber of the audience gets a mail. */
  async function sendLast(): Promise<Finding[]> {
    const findings: Finding[] = []
    for (const list of lists) {
      const campaign = await create(list.id)
      const { body } = await api.call<{ willReceive: number }>('GET', `/campaigns/${campaign.id}/audience`, { key })
      const { status } = await send(campaign)
      const read = () => api.call<Stats>('GET', `/campaigns/${campaign.id}/stats`, { key })
      const isEnded = async () => ((await read()).body.pending === 0 ? await read() : undefined)
      const stats = (await waitUntil(isEnded, { describe: `${campaign.subject} is sent`, timeoutMs: 120_000 })).body
      const isExact = status === 400 ? body.willReceive === 0 : body.willReceive === stats.sent
      if (!isExact) findings.push({ kind: 'audience', list: list.name, willReceive: body.willReceive, ...stats })
    }
    return findings
  }

  return { send: sendNext, sendLast, readMails: readNewMails }
}
