/** What the budgets for mails of visitors withhold, and lists that visitors can join but do not: for operators. */
import { and, asc, count, desc, eq, isNull, min, notExists, or, sql } from 'drizzle-orm'
import type { Registry } from 'prom-client'
import type { Db } from '../../db/client.ts'
import { lists, subscriptions, visitorMails, workspaces } from '../../db/schema/index.ts'
import type { ListId, WorkspaceId } from '../../kernel/ids.ts'
import { createUnlabeledGauge } from '../../runtime/metrics.ts'
import { cacheResult } from './work-metrics.ts'
import type { Timestamp } from '../../kernel/values/timestamps.ts'

/** Registers a gauge of the mails of visitors that wait. No label names a workspace: `doctor` does. */
export function registerWithheldMetrics(registry: Registry, db: Db): void {
  createUnlabeledGauge(registry, {
    name: 'withheld_mails',
    help: 'Emails that visitors asked for, and that wait because the budget of their workspace is used up',
    read: cacheResult(() => countWithheldMails(db)),
  })
}

export async function countWithheldMails(db: Db): Promise<number> {
  return await db.$count(visitorMails, eq(visitorMails.status, 'WITHHELD'))
}

const maxListed = 20

export interface WithholdingWorkspace {
  workspaceId: WorkspaceId
  name: string
  count: number
  /** When the visitor asked for the oldest mail. */
  since: Timestamp | null
}

/** Lists the workspaces whose mails wait, at most twenty, those with the most mails first. */
export async function listWithholdingWorkspaces(db: Db): Promise<WithholdingWorkspace[]> {
  const mails = count()
  return await db
    .select({ workspaceId: workspaces.id, name: workspaces.name, count: mails, since: min(visitorMails.createdAt) })
    .from(visitorMails)
    .innerJoin(workspaces, eq(workspaces.id, visitorMails.workspaceId))
    .where(eq(visitorMails.status, 'WITHHELD'))
    .groupBy(workspaces.id, workspaces.name)
    .orderBy(desc(mails))
    .limit(maxListed)
}

export interface UnusedSignup {
  workspaceId: WorkspaceId
  listId: ListId
  name: string
}

/** Lists the OPEN lists to which no visitor has subscribed for 90 days, at most twenty. */
export async function listUnusedSignups(db: Db): Promise<UnusedSignup[]> {
  const start = sql`now() - interval '90 days'`
  const bySignup = or(eq(subscriptions.source, 'public'), sql`${subscriptions.source} like 'form:%'`)
  const signups = db
    .select({ one: sql`1` })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.workspaceId, lists.workspaceId),
        eq(subscriptions.listId, lists.id),
        sql`${subscriptions.createdAt} > ${start}`,
        bySignup,
      ),
    )
  return await db
    .select({ workspaceId: lists.workspaceId, listId: lists.id, name: lists.name })
    .from(lists)
    .innerJoin(workspaces, and(eq(workspaces.id, lists.workspaceId), isNull(workspaces.deletedAt)))
    .where(
      and(
        eq(lists.publicSignup, 'OPEN'),
        isNull(lists.deletedAt),
        sql`${lists.createdAt} < ${start}`,
        notExists(signups),
      ),
    )
    .orderBy(asc(lists.createdAt))
    .limit(maxListed)
}
