/** Reports come more than once. Each is known by a fingerprint, so that only the first one counts. */
import { createHmac } from 'node:crypto'
import { and, eq, lt, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { mailReports } from '../../db/schema/index.ts'
import { isAnyOf } from '../../db/statements/is-any-of.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { purgeRows } from '../../db/statements/purge-rows.ts'
import { arrayOf } from '../../db/statements/sql-types.ts'
import { emailKey } from '../../kernel/values/email-key.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'
import type { Ctx } from '../../request/context.ts'
import type { Reported } from './find-reported-mails.ts'
import type { MailReport } from './mail-report.ts'

/**
 * Adds the reports that are new. Returns for each whether it is. The unique key ensures that only one of several concurrent
 * reports is new.
 */
export async function addNewReports(ctx: Ctx, reported: readonly Reported[]): Promise<boolean[]> {
  const fingerprints = reported.map((one) => computeFingerprints(ctx, one))
  const former = fingerprints.flatMap(([, ...former]) => former)
  const isOfFormerKey = and(eq(mailReports.workspaceId, ctx.workspaceId), isAnyOf(mailReports.fingerprint, former))
  const { fingerprint } = mailReports
  const known = former.length === 0 ? [] : await ctx.db.select({ fingerprint }).from(mailReports).where(isOfFormerKey)
  const knownSet = new Set(known.map((row) => row.fingerprint))
  const isUnknown = ([, ...former]: string[]) => !former.some((one) => knownSet.has(one))
  const added = new Set(fingerprints.filter(isUnknown).flatMap(([current]) => current ?? []))
  if (added.size === 0) return reported.map(() => false)
  const inserted = await insertReports(ctx.db, { workspaceId: ctx.workspaceId, fingerprints: [...added] })
  const isNew = new Set(inserted.map((row) => row.fingerprint))
  // Of equal reports, the first one is new.
  return fingerprints.map(([current = '']) => isNew.delete(current))
}

const insertReports = namedStatement('insert mail reports', {
  params: { workspaceId: mailReports.workspaceId, fingerprints: arrayOf(mailReports.fingerprint) },
  columns: { fingerprint: mailReports.fingerprint },
  sql: ({ workspaceId, fingerprints }) => sql`
    insert into mail_reports (workspace_id, fingerprint)
    select ${workspaceId}, fingerprint from unnest(${fingerprints}) as given (fingerprint) order by fingerprint
    on conflict do nothing
    returning fingerprint`,
})

/** Omits `detail`, because a server may word it differently each time, and how the report came. One for each key. */
function computeFingerprints(ctx: Ctx, { report, mail: { address, recipient, emailId, mailId } }: Reported): string[] {
  const mail = recipient
    ? [recipient.campaignId, recipient.contactId]
    : [emailId ?? mailId ?? report.messageId ?? report.providerMessageId ?? dayOf(report)]
  const eventId = report.type === 'OPT_OUT' ? [report.eventId ?? null] : []
  const subject = [address === null ? null : emailKey(address), report.class, ...mail, ...eventId]
  const content = JSON.stringify([ctx.workspaceId, report.type, ...subject])
  return ctx.settings.keys.optOuts.map((key) => createHmac('sha256', key).update(content).digest('base64url'))
}

const dayOf = (report: MailReport) => (report.class === 'SOFT' ? null : timestampNow().slice(0, 10))

/** Deletes reports older than 30 days, at most 1,000, and returns the number. */
export const purgeMailReports = (db: Db): Promise<number> =>
  purgeRows(db, mailReports, lt(mailReports.createdAt, sql`now() - interval '30 days'`))
