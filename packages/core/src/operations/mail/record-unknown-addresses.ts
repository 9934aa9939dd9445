import { and, eq, inArray } from 'drizzle-orm'
import { parseMessageId } from '../../campaigns/engagement.ts'
import { findContactsByKeys } from '../../contacts/find-contact.ts'
import { emailKey } from '../../contacts/identity/contact-keys.ts'
import { campaignRecipients, emails, mails } from '../../db/schema/index.ts'
import { parseEmailMessageId } from '../../emails/email-reports.ts'
import { emitMany } from '../../events/emit.ts'
import { hashProviderMessageId } from '../../mail/providers/provider-message-id.ts'
import type { Ctx } from '../../request/context.ts'
import { inRounds } from '../../request/in-rounds.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { addNewReports } from './known-reports.ts'
import { mailBounced } from './mail-events.schema.ts'
import { reasonOf, toEventData } from './mail-events.ts'
import type { MailReport } from './mail-report.ts'

type WithAddress = MailReport & { email: string }

/**
 * Records the reports that are about an address alone: no email of the workspace and no contact has to do with them. A
 * message may have thousands, so they are recorded together, as `recordReport` would each. Returns the others.
 */
export async function recordUnknownAddresses(ctx: Ctx, reports: readonly MailReport[]): Promise<MailReport[]> {
  const unknown = await findUnknown(ctx, reports)
  if (unknown.length > 0) await inRounds(ctx, (ctx) => recordTogether(ctx, unknown))
  const recorded = new Set<MailReport>(unknown)
  return reports.filter((report) => !recorded.has(report))
}

async function findUnknown(ctx: Ctx, reports: readonly MailReport[]): Promise<WithAddress[]> {
  const possible = reports.filter(isPossible)
  if (possible.length < 2) return []
  const ids = new Set(possible.flatMap(({ providerMessageId: id }) => (id === null ? [] : hashProviderMessageId(id))))
  const sent = await listSent(ctx, [...ids])
  const contacts = await findContactsByKeys(
    ctx,
    possible.map(({ email }) => ({ email })),
  )
  const known = new Set(contacts.map(({ email }) => emailKey(email)))
  return possible.filter(
    ({ email, providerMessageId: id }) => !known.has(emailKey(email)) && !(id && sent.has(hashProviderMessageId(id))),
  )
}

/** A complaint depends on what is recorded of the address. */
const isPossible = (report: MailReport): report is WithAddress =>
  report.type !== 'COMPLAINT' &&
  report.email !== null &&
  report.recipientToken === null &&
  (report.messageId === null || !namesEmail(report.messageId))

const namesEmail = (messageId: string) =>
  parseMessageId(messageId) !== undefined || parseEmailMessageId(messageId) !== undefined

/** Those of the ids that the mail server gave to emails of the workspace. */
async function listSent(ctx: Ctx, hashes: readonly string[]): Promise<Set<string | null>> {
  const found = new Set<string | null>()
  if (hashes.length === 0) return found
  for (const table of [campaignRecipients, emails, mails]) {
    const rows = await ctx.db
      .select({ hash: table.providerMessageHash })
      .from(table)
      .where(and(eq(table.workspaceId, ctx.workspaceId), inArray(table.providerMessageHash, [...hashes])))
    for (const { hash } of rows) found.add(hash)
  }
  return found
}

async function recordTogether(ctx: Ctx, unknown: readonly WithAddress[]): Promise<void> {
  const areNew = await addNewReports(
    ctx,
    unknown.map((report) => ({ report, mail: { address: report.email } })),
  )
  const reports = unknown.filter((_report, at) => areNew[at])
  const added = reports.flatMap((report) => {
    const reason = reasonOf(report)
    return reason ? [{ email: report.email, reason, source: 'MAIL_EVENT' } as const] : []
  })
  if (added.length > 0) await suppress(ctx, added, { emitsEvents: true })
  const bounces = reports.filter(({ type }) => type === 'BOUNCE')
  await emitMany(
    ctx,
    mailBounced,
    bounces.map((report) => toEventData(report, report)),
  )
}
