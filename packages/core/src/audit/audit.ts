import { and, eq } from 'drizzle-orm'
import { clientAddressOf, type Ctx, getActorId } from '../request/context.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { type IdOf, type IdPrefix, newId } from '../kernel/ids.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { auditEntries } from '../db/schema/index.ts'
import type { AuditAction, AuditEntry, AuditQuery } from './audit.schema.ts'

type AuditRow = typeof auditEntries.$inferSelect

interface AuditDetails {
  subjectId?: IdOf<IdPrefix>
  /** Further details, never a secret. */
  [detail: string]: AuditRow['details'][string] | undefined
}

/**
 * Records an action and its actor in the transaction of the action. Entries are immutable and are deleted with their
 * workspace.
 */
export function audit(ctx: Ctx, action: AuditAction, details: AuditDetails = {}): Promise<void> {
  return auditEach([ctx], action, details)
}

/** Records an action in several workspaces, in one statement. The contexts belong to one request. */
export async function auditEach(
  contexts: readonly Ctx[],
  action: AuditAction,
  { subjectId, ...details }: AuditDetails = {},
): Promise<void> {
  const entries = contexts.map((ctx) => ({
    workspaceId: ctx.workspaceId,
    id: newId('aud'),
    action,
    actorKind: ctx.actor.kind,
    actorId: getActorId(ctx.actor),
    subjectId: subjectId ?? null,
    details: withoutUndefined(details) as AuditRow['details'],
    address: clientAddressOf(ctx),
    requestId: ctx.requestId,
  }))
  await contexts[0]?.db.insert(auditEntries).values(entries)
}

/** Finds the user or API key that did this to a record; null if there is none. */
export async function findAuditActor(ctx: Ctx, action: AuditAction, subjectId: IdOf<IdPrefix>): Promise<string | null> {
  const [entry] = await ctx.db
    .select({ actorId: auditEntries.actorId })
    .from(auditEntries)
    .where(
      and(
        eq(auditEntries.workspaceId, ctx.workspaceId),
        eq(auditEntries.action, action),
        eq(auditEntries.subjectId, subjectId),
      ),
    )
    .limit(1)
  return entry?.actorId ?? null
}

/** Returns a page of the audit log. */
export async function listAuditEntries(ctx: Ctx, query: AuditQuery): Promise<Page<AuditEntry>> {
  const page = await readPage<AuditRow>(ctx, {
    name: `audit ${query.action ?? ''} ${query.actorId ?? ''}`,
    query,
    ...byCreation<AuditRow>(auditEntries),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(auditEntries)
        .where(
          and(
            eq(auditEntries.workspaceId, ctx.workspaceId),
            query.action && eq(auditEntries.action, query.action),
            query.actorId === undefined ? undefined : eq(auditEntries.actorId, query.actorId),
            isCreatedInRange(auditEntries, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toAuditEntry) }
}

function toAuditEntry(row: AuditRow): AuditEntry {
  return {
    id: row.id,
    action: row.action,
    actor: { kind: row.actorKind, id: row.actorId },
    subjectId: row.subjectId,
    details: row.details,
    address: row.address,
    requestId: row.requestId,
    createdAt: row.createdAt,
  }
}
