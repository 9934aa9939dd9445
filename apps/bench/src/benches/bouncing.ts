import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { idOf } from '@rapport/core/kernel/ids.ts'
import { createRecipientToken, toReturnPath } from '@rapport/core/mail/bounces/recipient-token.ts'
import { createTransport } from 'nodemailer'
import { createCampaign, createList, send, type Sender, startMailSink, waitForEnd } from '../campaigns.ts'
import { type Installation, withInstallation } from '../installation.ts'
import { type Bench, measureRounds } from '../measurements.ts'
import { stopProcess } from '../processes.ts'

const bouncesPerMinute = 10_000

export const bouncing: Bench = {
  about: 'A campaign while its worker receives 10,000 bounces a minute of an earlier one; baseline: none arrive',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      await startMailSink(installation)
      const port = await findFreePort()
      installation.environment['BOUNCE_PORT'] = String(port)
      const sender = { api: await installation.startApi(), workspace: await installation.createWorkspace() }
      const count = options.quick ? 2_000 : 20_000
      const listId = await createList(installation, sender, { name: 'reader', count })
      const worker = await installation.startWorker()
      const earlier = await sendCampaign(sender, listId)
      const paths = await listReturnPaths(installation, sender, earlier.id)
      const accepted: number[] = []
      let received = 0
      const withBounces = async () => {
        const bounces = startBounces(port, paths, received)
        const { perSecond } = await sendCampaign(sender, listId)
        const { count: added, perSecond: bouncesPerSecond } = await bounces.stop()
        received += added
        accepted.push(bouncesPerSecond)
        return perSecond
      }
      const alone = async () => (await sendCampaign(sender, listId)).perSecond
      const rates = await measureRounds(options, { withBounces, alone }, { warmUp: false })
      await stopProcess(worker)
      return [
        {
          name: `campaign to ${count.toLocaleString('en')} while bounces arrive`,
          unit: 'mails/s',
          values: rates.withBounces,
          baseline: { name: 'without bounces', values: rates.alone },
          target: { atLeast: 0.8 },
        },
        { name: 'bounces recorded meanwhile', unit: 'bounces/s', values: accepted },
      ]
    }),
}

async function sendCampaign(sender: Sender, listId: string): Promise<{ id: string; perSecond: number }> {
  const id = await createCampaign(sender, listId)
  await send(sender, id)
  return { id, perSecond: await waitForEnd(sender, id) }
}

async function listReturnPaths(installation: Installation, { workspace }: Sender, id: string): Promise<string[]> {
  const keys = deriveKeys(installation.environment['SECRET_KEY'] ?? '')
  const { workspaceId } = workspace.ctx
  const { rows } = await installation.database.pool.query<{ campaign: string; contact: string; email: string }>(
    `select r.campaign_id as campaign, r.contact_id as contact, c.email
     from campaign_recipients r join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id`,
  )
  return rows
    .map(({ campaign, contact, email }) => ({
      campaignId: idOf('cmp', campaign),
      contactId: idOf('con', contact),
      email,
    }))
    .filter(({ campaignId }) => campaignId === id)
    .map(
      ({ email, ...subject }) =>
        `${toReturnPath(createRecipientToken(keys, { workspaceId, subject, email }))}@b.example`,
    )
}

/** Codes of bounces that suppress no address. A second report about an email counts only with another class. */
const codes = ['4.2.2', '5.3.4', '5.7.1']

/** Sends reports at a steady rate. `stop` returns the number per second. */
function startBounces(port: number, paths: readonly string[], first: number) {
  const transport = createTransport({ host: '127.0.0.1', port, pool: true, maxConnections: 10, ignoreTLS: true })
  const startedAt = performance.now()
  const stopping = new AbortController()
  const sending: Promise<unknown>[] = []
  function deliver(index: number) {
    const path = paths[index % paths.length] ?? ''
    const raw = composeReport(codes[Math.floor(index / paths.length) % codes.length] ?? '')
    return transport.sendMail({ envelope: { from: '', to: [path] }, raw })
  }
  async function run() {
    while (!stopping.signal.aborted) {
      const due = ((performance.now() - startedAt) / 60_000) * bouncesPerMinute
      while (sending.length < due) sending.push(deliver(first + sending.length))
      await sleep(5)
    }
  }
  const running = run()
  return {
    async stop() {
      stopping.abort()
      await running
      await Promise.all(sending)
      transport.close()
      return { count: sending.length, perSecond: (sending.length / (performance.now() - startedAt)) * 1000 }
    },
  }
}

const composeReport = (code: string) =>
  [
    'From: MAILER-DAEMON@mx.example',
    'Subject: Undelivered Mail Returned to Sender',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'The email was not delivered.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example',
    '',
    'Final-Recipient: rfc822; person@example.com',
    'Action: failed',
    `Status: ${code}`,
    '--b--',
    '',
  ].join('\r\n')
