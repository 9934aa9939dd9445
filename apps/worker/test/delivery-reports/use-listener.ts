import type { CampaignId, ContactId } from '@rapport/core/kernel/ids.ts'
import { createRecipientToken, toReturnPath } from '@rapport/core/mail/bounces/recipient-token.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { readSuppressions } from '@rapport/core/consent/consent-records.ts'
import { byStrictness } from '@rapport/core/consent/suppression-rows.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { createTestCtx, createTestWorker, listEventTypes, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openSmtpConversation } from '@rapport/testing/network/smtp-conversation.ts'
import { beforeEach } from 'vitest'
import { openBounceListener } from '../../src/bounces/bounce-listener.ts'
import { readMail } from '../../src/bounces/parsing/parse-report.ts'
import { silentLog } from '../fixtures.ts'
import { composeReport } from './compose-report.ts'

export const listenerOptions = {
  host: '127.0.0.1',
  port: 0,
  commandMs: 60_000,
  messageMs: 60_000,
  connectionMs: 60_000,
  retryMs: 20,
  log: silentLog,
  parser: { read: readMail },
} as const

interface SentCampaign {
  ctx: Ctx
  campaignId: CampaignId
  recipients: { id: ContactId; email: string }[]
}

/** Sends a mail and returns the response to each command, from the first RCPT on. */
async function deliverTo(port: number, raw: string, ...paths: string[]): Promise<string[]> {
  const smtp = await openSmtpConversation(port)
  const commands = ['EHLO mx.example', 'MAIL FROM:<>', ...paths.map((path) => `RCPT TO:<${path}>`), 'DATA']
  const responses: string[] = []
  for (const command of commands) responses.push(await smtp.send(command))
  if (responses.at(-1)?.startsWith('354')) responses.push(await smtp.send(`${raw}\r\n.`))
  smtp.close()
  return responses.slice(2)
}

/** A listener, and before each test a campaign that was sent to `recipientCount` recipients of a new workspace. */
export function useListener(recipientCount: number) {
  const database = useTestDatabase()
  const listener = useForFile(() => openBounceListener({ db: database.db, settings: testSettings }, listenerOptions))
  let sent: SentCampaign | undefined
  beforeEach(async () => {
    const ctx = await createTestCtx(database.db)
    const { id, batches } = await startTestCampaign(ctx, recipientCount)
    const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
    const { recipients } = await sendTestBatch(ctx, batch)
    const sorted = recipients.toSorted((one, other) => one.email.localeCompare(other.email))
    sent = { ctx, campaignId: id, recipients: sorted }
  })
  const readSent = (): SentCampaign => {
    if (!sent) throw new Error('There is no campaign before the first test')
    return sent
  }
  const recipientOf = (index: number) => {
    const recipient = readSent().recipients[index]
    if (!recipient) throw new Error(`There are only ${recipientCount} recipients`)
    return recipient
  }
  return {
    database,
    listener,
    readSent,
    recipientOf,
    emailOf: (index: number) => recipientOf(index).email,
    /** The return path of the mail to a recipient. */
    pathOf: (index: number, of = readSent().ctx): string => {
      const { id: contactId, email } = recipientOf(index)
      const subject = { campaignId: readSent().campaignId, contactId }
      const token = createRecipientToken(of.settings.keys, { workspaceId: of.workspaceId, subject, email })
      return `${toReturnPath(token)}@bounces.example`
    },
    deliver: (raw: string, ...paths: string[]) => deliverTo(listener.port, raw, ...paths),
    deliverTo,
    /** Sends mails, many at once, as the greeting comes after 100 ms. Returns the last response to each. */
    deliverAll: async (raws: string[], path: string): Promise<string[]> => {
      const responses: string[] = []
      for (let at = 0; at < raws.length; at += 10) {
        const sent = await Promise.all(raws.slice(at, at + 10).map((raw) => deliverTo(listener.port, raw, path)))
        responses.push(...sent.map((lines) => lines.at(-1) ?? ''))
      }
      return responses
    },
    /** The strictest reason against each recipient, in the order of their addresses. */
    readSuppressed: async () => {
      const { ctx, recipients } = readSent()
      const reasons = await Promise.all(recipients.map(({ email }) => readSuppressions(ctx, { email })))
      return reasons.map((rows) => byStrictness(rows)[0]?.reason)
    },
    listBounces: async () => (await listEventTypes(readSent().ctx)).filter((type) => type.startsWith('mail.')),
  }
}

/** A delivery report about one recipient. */
export const reportOf = (email: string, status = '5.1.1', action = 'failed') =>
  composeReport({
    status: [
      'Reporting-MTA: dns; mx.example',
      `Final-Recipient: rfc822; ${email}\r\nAction: ${action}\r\nStatus: ${status}`,
    ],
  })
