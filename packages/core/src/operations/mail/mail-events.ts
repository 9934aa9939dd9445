/** Bounces and spam complaints that mail providers report. */
import { createHmac } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { recordEngagement, parseMessageId, isCampaignRecipient } from '../../campaigns/engagement.ts'
import { findCurrentAddress } from '../../contacts/contact-aliases.ts'
import { findContactByEmail } from '../../contacts/find-contact.ts'
import { touchLastActivity } from '../../contacts/touch-last-activity.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import type { Db } from '../../db/client.ts'
import { emit } from '../../events/emit.ts'
import { toTimestamp } from '../../kernel/validation.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { mailReports } from '../../db/schema/index.ts'
import { mailBounced, mailComplained, type MailReport } from './mail-events.schema.ts'

/**
 * Records a report. A complaint or a permanent bounce suppresses the address and unsubscribes it from every list of the
 * workspace. A complaint is what the person said: if `messageId` names a recipient whose address has changed since, it
 * holds for the new address too. A temporary bounce only emits an event. The report counts in the statistics of the campaign that
 * `messageId` identifies. Providers send reports more than once: a repeated report is a no-op.
 */
export function reportMailEvent(ctx: Ctx, report: MailReport): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    if (!(await isNewReport(ctx, report))) return
    const isComplaint = report.type === 'COMPLAINT'
    const isPermanent = isComplaint || report.permanent === true
    const namedRecipient = report.messageId === undefined ? undefined : parseMessageId(report.messageId)
    const recipient = namedRecipient && (await isCampaignRecipient(ctx, namedRecipient)) ? namedRecipient : undefined
    if (isPermanent) {
      const reason = isComplaint ? 'COMPLAINED' : 'BOUNCED'
      const current = isComplaint && recipient ? await findCurrentAddress(ctx, recipient.contactId) : undefined
      const emails = [report.email, ...(current === undefined ? [] : [current])]
      const added = emails.map((email) => ({ email, reason, source: 'MAIL_EVENT' }) as const)
      await suppress(ctx, added, { emitsEvents: false })
    }
    const contact = await findContactByEmail(ctx, report.email)
    if (contact) await touchLastActivity(ctx, contact.id)
    if (recipient && isPermanent) await recordEngagement(ctx, recipient, isComplaint ? 'complained' : 'bounced')
    await emit(ctx, isComplaint ? mailComplained : mailBounced, {
      email: report.email,
      permanent: isPermanent,
      detail: report.detail,
      messageId: report.messageId ?? null,
      contactId: contact?.id ?? null,
      campaignId: recipient?.campaignId ?? null,
      reportedAt: toTimestamp(new Date()),
    })
  })
}

/** Deletes reports older than 30 days, at most 1,000, and returns the number. */
export async function purgeMailReports(db: Db): Promise<number> {
  const result = await db.execute(sql`
    delete from mail_reports where (workspace_id, fingerprint) in (
      select workspace_id, fingerprint from mail_reports where created_at < now() - interval '30 days' limit 1000)`)
  return result.rowCount ?? 0
}

/**
 * The unique key ensures that only one of several concurrent reports is new. The fingerprint omits `detail`, because a
 * server may word it differently each time.
 */
async function isNewReport(ctx: Ctx, { type, email, messageId, permanent }: MailReport): Promise<boolean> {
  const content = JSON.stringify([ctx.workspaceId, type, email.toLowerCase(), messageId ?? null, permanent ?? null])
  const fingerprint = createHmac('sha256', ctx.settings.keys.optOuts[0]).update(content).digest('base64url')
  const inserted = await ctx.db
    .insert(mailReports)
    .values({ workspaceId: ctx.workspaceId, fingerprint })
    .onConflictDoNothing()
    .returning({ fingerprint: mailReports.fingerprint })
  return inserted.length > 0
}
