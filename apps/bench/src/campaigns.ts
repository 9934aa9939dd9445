/** Campaigns in benches. */
import type { CampaignStats } from '@rapport/core/campaigns/campaign-stats.schema.ts'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { call, type Installation, type Server, type Workspace } from './installation.ts'
import { newsletter } from './newsletter.ts'
import { insertSubscribers } from './contacts.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { isListening, waitUntil } from './processes.ts'

interface Sent {
  sentAt: string
  completedAt: string | null
  status: string
  pauseReason: string | null
}

/** Starts a mail server that discards all mails: the program in SMTP_SINK, such as Postfix's smtp-sink, or sink.ts. */
export async function startMailSink(installation: Installation): Promise<{ port: number; name: string }> {
  const program = inheritedEnvironment()['SMTP_SINK']
  if (!program) return { ...(await installation.startSink()), name: 'sink.ts' }
  const port = await findFreePort()
  const account = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  installation.processes.spawn(program, [...account, `127.0.0.1:${port}`, '1000'])
  await waitUntil(() => isListening(port))
  installation.environment['SMTP_URL'] = `smtp://127.0.0.1:${port}`
  return { port, name: program }
}

/** An API and the workspace that sends. */
export interface Sender {
  api: Server
  workspace: Workspace
}

/** As much of a sender as another process can know. */
interface Caller {
  api: Pick<Server, 'url'>
  workspace: Pick<Workspace, 'key'>
}

/** Creates a list with `count` confirmed subscribers. */
export async function createList(installation: Installation, sender: Sender, list: { name: string; count: number }) {
  const { name, count } = list
  const { id } = await call<{ id: string }>(sender.api, sender.workspace.key, ['POST /lists', { name }])
  await insertSubscribers(installation, sender.workspace, { id, name, count })
  return id
}

export async function createCampaign({ api, workspace }: Caller, listId: string): Promise<string> {
  const campaign = { name: 'News', subject: 'News for {{ contact.firstName }}', html: newsletter, listId }
  return (await call<{ id: string }>(api, workspace.key, ['POST /campaigns', campaign])).id
}

export async function send({ api, workspace }: Caller, id: string): Promise<void> {
  await call(api, workspace.key, [`POST /campaigns/${id}/send`])
}

export async function readStats({ api, workspace }: Sender, id: string): Promise<CampaignStats> {
  return call<CampaignStats>(api, workspace.key, [`GET /campaigns/${id}/stats`])
}

/** Waits until the campaign is complete. Returns the mails per second from `send` until the last recorded outcome. */
export async function waitForEnd(sender: Sender, id: string): Promise<number> {
  const readEndedCampaign = async () => {
    const campaign = await call<Sent>(sender.api, sender.workspace.key, [`GET /campaigns/${id}`])
    return (campaign.completedAt !== null || campaign.status === 'PAUSED') && campaign
  }
  const { sentAt, completedAt, pauseReason } = await waitUntil(readEndedCampaign, { everyMs: 50 })
  if (pauseReason !== null) throw new Error(`The campaign was paused: ${pauseReason}`)
  const { sent } = await waitUntil(() => readStats(sender, id))
  return (sent / (Date.parse(completedAt ?? '') - Date.parse(sentAt))) * 1000
}
