/** What benches do with campaigns. */
import type { CampaignStats } from '@rapport/core/campaigns/campaigns.schema.ts'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { call, type Installation, type Server, type Workspace } from './installation.ts'
import { newsletter } from './newsletter.ts'
import { fillList } from './people.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { isListening, until } from './processes.ts'

interface Sent {
  sentAt: string
  completedAt: string | null
  status: string
  pauseReason: string | null
}

/** Where mails go that nobody reads: to the program that SMTP_SINK names, such as Postfix's smtp-sink, else to our own. */
export async function startNullSink(installation: Installation): Promise<{ port: number; name: string }> {
  const program = inheritedEnvironment()['SMTP_SINK']
  if (!program) return { ...(await installation.startSink()), name: 'a sink of our own' }
  const port = await findFreePort()
  const account = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  installation.processes.spawn(program, [...account, `127.0.0.1:${port}`, '1000'])
  await until(() => isListening(port))
  installation.environment['SMTP_URL'] = `smtp://127.0.0.1:${port}`
  return { port, name: program }
}

/** An API and a workspace in it. */
export interface Sender {
  api: Server
  workspace: Workspace
}

/** A list with so many confirmed subscribers. */
export async function createList(installation: Installation, sender: Sender, list: { name: string; count: number }) {
  const { name, count } = list
  const { id } = await call<{ id: string }>(sender.api, sender.workspace.key, ['POST /lists', { name }])
  await fillList(installation, sender.workspace, { id, name, count })
  return id
}

export async function createCampaign({ api, workspace }: Sender, listId: string): Promise<string> {
  const campaign = { name: 'News', subject: 'News for {{ contact.firstName }}', html: newsletter, listId }
  return (await call<{ id: string }>(api, workspace.key, ['POST /campaigns', campaign])).id
}

export async function send({ api, workspace }: Sender, id: string): Promise<void> {
  await call(api, workspace.key, [`POST /campaigns/${id}/send`])
}

export async function readStats({ api, workspace }: Sender, id: string): Promise<CampaignStats> {
  return call<CampaignStats>(api, workspace.key, [`GET /campaigns/${id}/stats`])
}

/** Mails per second from `send` until the last outcome was recorded. */
export async function waitForEnd(sender: Sender, id: string): Promise<number> {
  const readEnd = async () => {
    const campaign = await call<Sent>(sender.api, sender.workspace.key, [`GET /campaigns/${id}`])
    return (campaign.completedAt !== null || campaign.status === 'PAUSED') && campaign
  }
  const { sentAt, completedAt, pauseReason } = await until(readEnd, { everyMs: 50 })
  if (pauseReason !== null) throw new Error(`The campaign was paused: ${pauseReason}`)
  const { sent } = await until(() => readStats(sender, id))
  return (sent / (Date.parse(completedAt ?? '') - Date.parse(sentAt))) * 1000
}
