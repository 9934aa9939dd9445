import { and, eq, isNull } from 'drizzle-orm'
import { AppError } from '../kernel/errors.ts'
import { type QuotaName, type Quotas, withQuotas } from '../kernel/quotas.ts'
import type { Ctx } from '../request/context.ts'
import { workspaces } from '../db/schema/index.ts'

/** Reads the limits of the workspace: those of the installation, or the ones that the operator set for it. */
export async function readQuotas(ctx: Ctx): Promise<Quotas> {
  const [row] = await ctx.db
    .select({ quotas: workspaces.quotas })
    .from(workspaces)
    .where(eq(workspaces.id, ctx.workspaceId))
  return withQuotas(ctx.settings.quotas, row?.quotas ?? {})
}

/**
 * Locks the quotas of the workspace until the caller's transaction ends, and returns the limits. Concurrent callers
 * wait, so that what they count does not change until they commit.
 */
export async function lockQuotas(ctx: Ctx): Promise<Quotas> {
  const [row] = await ctx.db
    .select({ quotas: workspaces.quotas })
    .from(workspaces)
    .where(and(eq(workspaces.id, ctx.workspaceId), isNull(workspaces.deletedAt)))
    .for('no key update')
  return withQuotas(ctx.settings.quotas, row?.quotas ?? {})
}

/**
 * Throws `quota_exceeded` if the workspace uses so much of a quota that `added` more would exceed it. `count` returns
 * the use before the change. Runs in the transaction of the change.
 */
export async function requireQuota(
  ctx: Ctx,
  name: QuotaName,
  { count, added = 1, retryAfterSeconds }: { count: () => Promise<number>; added?: number; retryAfterSeconds?: number },
): Promise<void> {
  const { [name]: limit } = await lockQuotas(ctx)
  if (limit === Infinity) return
  if ((await count()) + added > limit) throw quotaExceeded(name, limit, retryAfterSeconds)
}

const nouns: Record<QuotaName, string> = {
  contacts: 'contacts',
  companies: 'companies',
  lists: 'lists',
  forms: 'forms',
  segments: 'segments',
  pipelines: 'pipelines',
  apiKeys: 'API keys',
  webhooks: 'webhooks',
  domains: 'sending domains',
  customFields: 'custom fields',
  customFieldBytes: 'bytes of custom field options',
  campaignBytes: 'bytes of campaign bodies',
  requests: 'requests under way',
  exports: 'exports under way',
  imports: 'unfinished imports',
  importBytes: 'bytes in one import',
  campaignMails: 'campaign recipients in 24 hours',
  singleMails: 'test emails and invites in 24 hours',
  mailsPerAddress: 'emails of one kind to one address in 24 hours',
  confirmations: 'confirmation emails that visitors caused in 24 hours',
  personalDataMails: 'emails of personal data in 24 hours',
  emails: 'emails from templates in 24 hours',
  emailsPerAddress: 'emails from templates to one address in 24 hours',
  emailsPending: 'emails that are not sent yet',
  templates: 'templates',
  notes: 'notes',
  webhookRequests: 'webhook requests under way',
}

/** The error for a quota that is used up. `retryAfterSeconds`: when waiting helps. */
export function quotaExceeded(name: QuotaName, limit: number, retryAfterSeconds?: number): AppError {
  const message = `The quota of this workspace is used up: at most ${limit} ${nouns[name]}`
  return new AppError('quota_exceeded', message, {
    details: { quota: name, limit },
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}
