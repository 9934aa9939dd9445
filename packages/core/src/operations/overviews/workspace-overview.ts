/** What an operator asks about one workspace. */
import { count, eq } from 'drizzle-orm'
import { campaigns, deals, tasks, type campaignStatuses } from '../../db/schema/index.ts'
import { listDomains } from '../../domains/domains.ts'
import type { Domain } from '../../domains/domains.schema.ts'
import { listSenderDomains } from '../../domains/senders.ts'
import { readAllPages } from '../../request/paging.ts'
import type { Ctx } from '../../request/context.ts'
import { listInvites } from '../../team/invites.ts'
import { listMembers } from '../../team/members.ts'
import type { Invite, Member } from '../../team/team.schema.ts'
import { listFailingWebhooks, type FailingWebhookState } from '../../webhooks/health/failing-webhooks.ts'
import type { Workspace } from '../../workspaces/workspaces.schema.ts'
import { readWorkspace } from '../../workspaces/workspaces.ts'
import { readUsage } from './workspace-usage.ts'
import type { Usage } from './workspace-usage.schema.ts'

export interface WorkspaceOverview {
  workspace: Workspace
  members: Member[]
  /** The invites that were not accepted: of a workspace of `rapport workspace create`, also that of its owner. */
  invites: Invite[]
  /** The domains that the operator gave to the workspace. */
  senderDomains: string[]
  /** The domains that the workspace has added, with their records and hosts. */
  domains: Domain[]
  /** The use and the limit of each quota, as in `GET /workspace/usage`. */
  usage: Usage
  /** The number of records that no quota limits. */
  counts: { deals: number; tasks: number; campaigns: Partial<Record<(typeof campaignStatuses)[number], number>> }
  failingWebhooks: FailingWebhookState[]
}

export async function readWorkspaceOverview(ctx: Ctx): Promise<WorkspaceOverview> {
  const [workspace, members, invites, senderDomains, domains, usage, counts, failingWebhooks] = await Promise.all([
    readWorkspace(ctx),
    readAllPages((page) => listMembers(ctx, { ...page, sort: 'createdAt' })),
    readAllPages((page) => listInvites(ctx, { ...page, sort: 'createdAt' })),
    listSenderDomains(ctx),
    readAllPages((page) => listDomains(ctx, { ...page, sort: 'createdAt' })),
    readUsage(ctx),
    readCounts(ctx),
    listFailingWebhooks(ctx.db, { workspaceId: ctx.workspaceId }),
  ])
  return { workspace, members, invites, senderDomains, domains, usage, counts, failingWebhooks }
}

async function readCounts({ db, workspaceId }: Ctx): Promise<WorkspaceOverview['counts']> {
  const [dealCount, taskCount, byStatus] = await Promise.all([
    db.$count(deals, eq(deals.workspaceId, workspaceId)),
    db.$count(tasks, eq(tasks.workspaceId, workspaceId)),
    db
      .select({ status: campaigns.status, count: count() })
      .from(campaigns)
      .where(eq(campaigns.workspaceId, workspaceId))
      .groupBy(campaigns.status),
  ])
  const campaignCounts = Object.fromEntries(byStatus.map(({ status, count }) => [status, count]))
  return { deals: dealCount, tasks: taskCount, campaigns: campaignCounts }
}
