/**
 * The rates of complaints and bounces at which a template pauses, because receivers would refuse the emails of the sender
 * for weeks. Of its last 1,000 emails, those count that were accepted since a user activated it.
 */
import { sql } from 'drizzle-orm'
import { emails, templates } from '../../db/schema/index.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { int } from '../../db/statements/sql-types.ts'
import { audit } from '../../audit/audit.ts'
import { maxComplaintRate, maxHardRate } from '../../campaigns/find-rate-problem.ts'
import { emit } from '../../events/emit.ts'
import type { TemplateId } from '../../kernel/ids.ts'
import { timeOfUpdate } from '../../kernel/values/timestamps.ts'
import { emailAdmins } from '../../mail/email-admins.ts'
import { byId } from '../../request/by-id.ts'
import type { Ctx } from '../../request/context.ts'
import { holdEmails } from '../pending-emails.ts'
import { readTemplateSummary } from './templates.ts'
import { templatePaused } from './templates.schema.ts'

export interface Rates {
  /** The emails that a server accepted or refused. A refusal is reported before its email ends. */
  sent: number
  complained: number
  hardBounces: number
}

const lastEmails = 1_000
const minComplaints = 3
const minEmailsForHardRate = 200

/** Returns why a template with these rates pauses; undefined if they are low. */
function describeRates({ sent, complained, hardBounces }: Rates): string | undefined {
  if (complained >= minComplaints && complained > sent * maxComplaintRate)
    return `${complained} of the last ${sent} emails were reported as spam`
  if (sent >= minEmailsForHardRate && hardBounces > sent * maxHardRate)
    return `${hardBounces} of the last ${sent} addresses do not exist`
  return undefined
}

/** Pauses an ACTIVE template whose rates are too high, emits `template.paused`, and emails owners and admins. */
export async function pauseIfReported(ctx: Ctx, id: TemplateId): Promise<void> {
  // The lock that a change of columns takes: emails are accepted meanwhile. Concurrent reports wait, and see the pause.
  const [template] = await ctx.db
    .select()
    .from(templates)
    .where(byId(templates, ctx, id))
    .for('no key update')
  if (template?.status !== 'ACTIVE') return
  const [rates] = await readRates(ctx.db, {
    workspaceId: ctx.workspaceId,
    templateId: id,
    since: template.activatedAt ?? template.createdAt,
  })
  const pauseReason = rates && describeRates(rates)
  if (pauseReason === undefined) return
  await ctx.db
    .update(templates)
    .set({ status: 'PAUSED', pauseReason, updatedAt: timeOfUpdate(template.updatedAt) })
    .where(byId(templates, ctx, id))
  await holdEmails(ctx, id, 'PAUSED')
  await emit(ctx, templatePaused, await readTemplateSummary(ctx, id))
  await audit(ctx, 'template.paused', { subjectId: id, reason: pauseReason })
  await emailAdmins(ctx, 'TEMPLATE_PAUSED', { templateId: id })
}

const readRates = namedStatement('read the rates of a template', {
  params: { workspaceId: emails.workspaceId, templateId: emails.templateId, since: emails.createdAt },
  columns: { sent: int, complained: int, hardBounces: int },
  sql: ({ workspaceId, templateId, since }) => sql`
    select count(*)::int as sent, count(complained_at)::int as complained,
      count(*) filter (where bounce_class = 'HARD')::int as hard_bounces
    from (
      select complained_at, bounce_class from emails e
      where e.workspace_id = ${workspaceId} and e.template_id = ${templateId} and e.created_at >= ${since}
        and (e.status in ('SENT', 'FAILED', 'INTERRUPTED') or e.bounce_class is not null)
      order by e.created_at desc, e.id desc limit ${lastEmails}) as last`,
})
