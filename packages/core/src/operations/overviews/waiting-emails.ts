/** Templates that are paused, and emails to one person that wait: for operators. */
import { and, asc, count, eq, isNotNull, isNull, min, sql } from 'drizzle-orm'
import type { Registry } from 'prom-client'
import type { Db } from '../../db/client.ts'
import { emails, templates, workspaces } from '../../db/schema/index.ts'
import type { TemplateId, WorkspaceId } from '../../kernel/ids.ts'
import type { Timestamp } from '../../kernel/values/timestamps.ts'
import { createGauge, createUnlabeledGauge } from '../../runtime/metrics.ts'
import { cacheResult } from './work-metrics.ts'

const states = { waiting: 'ACTIVE', paused: 'PAUSED' } as const

/** Registers gauges of emails that wait and of paused templates. No label names a template: `doctor` does. */
export function registerEmailMetrics(registry: Registry, db: Db): void {
  const read = cacheResult(() => readWaitingEmails(db))
  createGauge(registry, {
    name: 'pending_emails',
    help: 'Emails to one person that wait to be sent, or for their template, which is paused',
    labelNames: ['state'],
    read: async () => {
      const rows = await read()
      return Object.entries(states).map(([state, status]) => ({
        labels: { state },
        value: rows.find((row) => row.status === status)?.count ?? 0,
      }))
    },
  })
  createUnlabeledGauge(registry, {
    name: 'email_oldest_seconds',
    help: 'Age of the oldest email to one person that was never tried, without those of paused templates and of suspended or deleted workspaces',
    read: async () => (await read()).find(({ status }) => status === states.waiting)?.oldestSeconds ?? 0,
  })
  createUnlabeledGauge(registry, {
    name: 'templates_paused',
    help: 'Templates that the system paused because of complaints or bounces',
    read: cacheResult(() => countPausedTemplates(db)),
  })
}

/** What belongs to a workspace that is neither suspended nor deleted. */
const isOfRunningWorkspace = and(isNull(workspaces.suspendedAt), isNull(workspaces.deletedAt))
const ofTemplate = and(eq(emails.workspaceId, templates.workspaceId), eq(emails.templateId, templates.id))
const isPending = eq(emails.status, 'PENDING')
/** A temporary refusal of the mail server delays an email for hours. */
const isUntried = eq(emails.attempts, 0)

export async function readWaitingEmails(db: Db) {
  return await db
    .select({
      status: templates.status,
      count: count(),
      oldestSeconds: sql<number>`coalesce(greatest(0, extract(epoch from now() - min(${emails.createdAt}) filter (where ${isUntried}))), 0)::float8`,
    })
    .from(emails)
    .innerJoin(templates, ofTemplate)
    .innerJoin(workspaces, eq(workspaces.id, emails.workspaceId))
    .where(and(isPending, isOfRunningWorkspace))
    .groupBy(templates.status)
}

const isPausedBySystem = and(eq(templates.status, 'PAUSED'), isNotNull(templates.pauseReason))

export async function countPausedTemplates(db: Db): Promise<number> {
  const [row] = await db
    .select({ count: count() })
    .from(templates)
    .innerJoin(workspaces, eq(workspaces.id, templates.workspaceId))
    .where(and(isPausedBySystem, isOfRunningWorkspace))
  return row?.count ?? 0
}

const maxListed = 20

export interface PausedTemplate {
  workspaceId: WorkspaceId
  templateId: TemplateId
  name: string
  pauseReason: string | null
  /** The emails that wait for it. */
  count: number
}

/** Lists the templates that the system paused, at most twenty. */
export async function listPausedTemplates(db: Db): Promise<PausedTemplate[]> {
  const { workspaceId, id, name, pauseReason } = templates
  return await db
    .select({ workspaceId, templateId: id, name, pauseReason, count: count(emails.id) })
    .from(templates)
    .innerJoin(workspaces, eq(workspaces.id, workspaceId))
    .leftJoin(emails, and(ofTemplate, isPending))
    .where(and(isPausedBySystem, isOfRunningWorkspace))
    .groupBy(workspaceId, id, name, pauseReason)
    .orderBy(asc(workspaceId), asc(id))
    .limit(maxListed)
}

export interface LateTemplate {
  workspaceId: WorkspaceId
  templateId: TemplateId
  name: string
  count: number
  /** When the oldest email was accepted. */
  since: Timestamp | null
}

/** Lists the ACTIVE templates whose emails have waited for `seconds` without an attempt, at most twenty, oldest first. */
export async function listLateTemplates(db: Db, seconds: number): Promise<LateTemplate[]> {
  const { workspaceId, id, name } = templates
  const since = min(emails.createdAt)
  const isLate = sql`${emails.createdAt} < now() - ${seconds} * interval '1 second'`
  return await db
    .select({ workspaceId, templateId: id, name, count: count(), since })
    .from(emails)
    .innerJoin(templates, ofTemplate)
    .innerJoin(workspaces, eq(workspaces.id, emails.workspaceId))
    .where(and(isPending, isUntried, isLate, eq(templates.status, 'ACTIVE'), isOfRunningWorkspace))
    .groupBy(workspaceId, id, name)
    .orderBy(asc(since))
    .limit(maxListed)
}
