import type { ApiConfig, WorkerConfig } from '../runtime/config.ts'
import type { Db } from '../db/client.ts'
import type { Replica } from '../db/read-replica.ts'
import type { Role } from '../db/schema/index.ts'
import { deriveKeys, type Keys } from '../kernel/crypto.ts'
import type { ApiKeyId, SessionId, UserId, WorkspaceId } from '../kernel/ids.ts'
import { transaction } from '../db/transaction.ts'

/** What verbs need to know of the installation. */
export interface Settings {
  readonly publicUrl: string
  readonly mailFrom: string
  /** The only ones that a workspace's or campaign's own address may be at; none: any. */
  readonly mailFromDomains: readonly string[]
  /** Whether strangers may make workspaces. */
  readonly isSignUpOpen: boolean
  readonly allowedNetworks: readonly string[]
  readonly keys: Keys
}

export type Actor =
  | { kind: 'user'; userId: UserId; role: Role; sessionId?: SessionId }
  | { kind: 'apiKey'; apiKeyId: ApiKeyId; role: Role }
  /** A stranger: a form, a link in a mail. */
  | { kind: 'public' }
  /** The worker. */
  | { kind: 'system' }

/** For verbs that come before any workspace: signup, login. */
export interface BaseCtx {
  readonly db: Db
  /** Where there is one, for what `readFromReplica` reads. */
  readonly replica?: Replica
  readonly requestId: string
  /** The span that this goes on from, as W3C says it, where traces are collected. */
  readonly traceparent?: string
  /** The client's, where there is one. */
  readonly address?: string
  readonly settings: Settings
}

/** What every verb takes first: the pool or the open transaction, and on whose behalf. */
export interface Ctx extends BaseCtx {
  readonly workspaceId: WorkspaceId
  readonly actor: Actor
}

/** The context of a visitor without a key, in the workspace that a form, a list or a link in a mail belongs to. */
export function publicContext(base: BaseCtx, workspaceId: WorkspaceId): Ctx {
  return { ...base, workspaceId, actor: { kind: 'public' } }
}

/** Runs `work` in a transaction, or in a savepoint of the one that is open, so that verbs compose. Throwing rolls back. */
export function inTransaction<C extends BaseCtx, Result>(ctx: C, work: (ctx: C) => Promise<Result>): Promise<Result> {
  return transaction(ctx.db, (db) => work({ ...ctx, db }))
}

export function settingsFrom(config: ApiConfig | WorkerConfig): Settings {
  return {
    publicUrl: config.PUBLIC_URL,
    mailFrom: config.MAIL_FROM,
    mailFromDomains: config.MAIL_FROM_DOMAINS,
    isSignUpOpen: config.SIGN_UP === 'open',
    allowedNetworks: config.WEBHOOK_ALLOWED_NETWORKS,
    keys: deriveKeys(config.SECRET_KEY, config.SECRET_KEY_PREVIOUS),
  }
}
