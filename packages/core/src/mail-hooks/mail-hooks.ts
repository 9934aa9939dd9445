/** The URLs that receive the bounces and complaints of mail providers. */
import { and, eq, isNull, lt, or, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import type { Db } from '../db/client.ts'
import { ignoreUnavailability } from '../db/distribution/conflicts.ts'
import { mailHooks } from '../db/schema/index.ts'
import { seal, unseal } from '../kernel/crypto.ts'
import { conflict, notFound } from '../kernel/errors.ts'
import { type MailHookId, newId } from '../kernel/ids.ts'
import { lockQuotas } from '../quotas/require-quota.ts'
import { byId, lockById } from '../request/by-id.ts'
import { type BaseCtx, type Ctx, inTransaction, type Settings } from '../request/context.ts'
import { lockActor } from '../request/lock-actor.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { isInLiveWorkspace } from '../request/workspace-state.ts'
import type { MailHook, MailHookInput, MailHookQuery } from './mail-hooks.schema.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

export type MailHookRow = typeof mailHooks.$inferSelect

const maxHooks = 20

/** Creates a mail hook. Throws `quota_exceeded` if the workspace has 20. */
export function createMailHook(ctx: Ctx, input: MailHookInput): Promise<MailHook> {
  return inTransaction(ctx, async (ctx) => {
    await lockQuotas(ctx)
    await lockActor(ctx)
    if ((await ctx.db.$count(mailHooks, isInWorkspace(ctx))) >= maxHooks)
      throw conflict('quota_exceeded', `A workspace has at most ${maxHooks} mail hooks`, { limit: maxHooks })
    const row = newHook(ctx.settings, { ...input, workspaceId: ctx.workspaceId })
    await ctx.db.insert(mailHooks).values(row)
    await audit(ctx, 'mail_hook.created', { subjectId: row.id, provider: row.provider })
    return toMailHook(ctx.settings, row)
  })
}

/** Reads one mail hook. */
export async function readMailHook(ctx: Ctx, id: MailHookId): Promise<MailHook> {
  const [row] = await ctx.db
    .select()
    .from(mailHooks)
    .where(byId(mailHooks, ctx, id))
  if (!row) throw notFound('Mail hook')
  return toMailHook(ctx.settings, row)
}

/** Lists a page of the workspace's mail hooks. */
export async function listMailHooks(ctx: Ctx, query: MailHookQuery): Promise<Page<MailHook>> {
  const page = await readPage<MailHookRow>(ctx, {
    name: 'mail-hooks',
    query,
    ...byCreation<MailHookRow>(mailHooks),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(mailHooks)
        .where(and(isInWorkspace(ctx), isCreatedInRange(mailHooks, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map((row) => toMailHook(ctx.settings, row)) }
}

/** Locks a mail hook until the transaction ends. */
export const lockMailHook = (ctx: Ctx, id: MailHookId): Promise<void> => lockById(mailHooks, ctx, id)

/** Deletes a mail hook. Messages to its URL are refused from now on. */
export function deleteMailHook(ctx: Ctx, id: MailHookId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .delete(mailHooks)
      .where(byId(mailHooks, ctx, id))
      .returning()
    if (!row) throw notFound('Mail hook')
    await audit(ctx, 'mail_hook.deleted', { subjectId: id, provider: row.provider })
  })
}

/** Deletes all mail hooks of the workspace. After the caller's commit, messages to their URLs are refused. */
export async function deleteAllMailHooks(ctx: Ctx): Promise<void> {
  const deleted = await ctx.db.delete(mailHooks).where(isInWorkspace(ctx)).returning()
  for (const { id, provider } of deleted) await audit(ctx, 'mail_hook.deleted', { subjectId: id, provider })
}

/** Creates a hook of the installation, for the operator. */
export async function createInstallationHook({ db, settings }: BaseCtx, input: MailHookInput): Promise<MailHook> {
  const row = newHook(settings, { ...input, workspaceId: null })
  await db.insert(mailHooks).values(row)
  return toMailHook(settings, row)
}

/** Lists the hooks of the installation. */
export async function listInstallationHooks({ db, settings }: BaseCtx): Promise<MailHook[]> {
  const rows = await db.select().from(mailHooks).where(isNull(mailHooks.workspaceId)).orderBy(mailHooks.createdAt)
  return rows.map((row) => toMailHook(settings, row))
}

/** Deletes a hook of the installation. */
export async function deleteInstallationHook({ db }: BaseCtx, id: MailHookId): Promise<void> {
  const { rowCount } = await db.delete(mailHooks).where(and(eq(mailHooks.id, id), isNull(mailHooks.workspaceId)))
  if (!rowCount) throw notFound('Mail hook')
}

/** Finds the hook of a URL with its secret. Undefined if there is none. */
export async function findMailHook(
  { db, settings }: BaseCtx,
  { id, provider }: Pick<MailHookRow, 'id' | 'provider'>,
): Promise<{ hook: MailHookRow; secret: string } | undefined> {
  const isLive = or(isNull(mailHooks.workspaceId), isInLiveWorkspace(mailHooks.workspaceId))
  const [hook] = await db
    .select()
    .from(mailHooks)
    .where(and(eq(mailHooks.id, id), eq(mailHooks.provider, provider), isLive))
  return hook && { hook, secret: unseal(settings.keys, hook.encryptedSecret, hook.id) }
}

/** Records that a message with a valid signature arrived. At most once a minute, so that busy hooks cause few writes. */
export async function touchMailHook(db: Db, { id }: Pick<MailHookRow, 'id'>): Promise<void> {
  const isStale = or(isNull(mailHooks.lastMessageAt), lt(mailHooks.lastMessageAt, sql`now() - interval '1 minute'`))
  await ignoreUnavailability(
    db
      .update(mailHooks)
      .set({ lastMessageAt: sql`now()` })
      .where(and(eq(mailHooks.id, id), isStale)),
  )
}

const isInWorkspace = (ctx: Ctx) => eq(mailHooks.workspaceId, ctx.workspaceId)

function newHook(
  { keys }: Settings,
  { provider, secret, workspaceId }: MailHookInput & Pick<MailHookRow, 'workspaceId'>,
): MailHookRow {
  const id = newId('mhk')
  const encryptedSecret = seal(keys, secret, id)
  return { id, workspaceId, provider, encryptedSecret, lastMessageAt: null, createdAt: timestampNow() }
}

function toMailHook({ publicUrl }: Settings, { id, provider, lastMessageAt, createdAt }: MailHookRow): MailHook {
  return {
    id,
    provider,
    url: `${publicUrl}/mail-events/${provider}/${id}`,
    lastMessageAt,
    createdAt,
  }
}
