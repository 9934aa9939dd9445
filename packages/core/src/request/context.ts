import type { ApiConfig, WorkerConfig } from '../runtime/config.ts'
import { quotasFrom } from '../runtime/variables/quota-variables.ts'
import { notFound } from '../kernel/errors.ts'
import type { Quotas } from '../kernel/quotas.ts'
import type { Db } from '../db/client.ts'
import type { Role } from '../db/schema/index.ts'
import { deriveKeys, type Keys } from '../kernel/crypto.ts'
import type { ApiKeyId, SessionId, UserId, WorkspaceId } from '../kernel/ids.ts'
import { repeatAfterDeadlock } from '../db/repeat-after-deadlock.ts'

/** The cost of argon2id for hashing a password. Memory in KiB. */
export type PasswordCost = Readonly<Record<'memoryCost' | 'timeCost' | 'parallelism', number>>

/** How long templates may take. */
export interface RenderingDeadlines {
  /** The deadline of a check. */
  checkMs: number
  /** The deadline of a single preview or test mail, unless the templates are long. */
  minMs: number
  /** The deadline of a mail grows with the length of its templates. */
  charactersPerMs: number
}

/** Settings of the installation that core functions need. */
export interface Settings {
  readonly publicUrl: string
  readonly mailFrom: string
  /** The domains that workspaces and campaigns may send from; empty: any domain. */
  readonly mailFromDomains: readonly string[]
  /** Whether campaigns are sent only from domains that their workspace has verified. */
  readonly requiresVerifiedDomain: boolean
  /** The domain to which bounces are sent, unless the domain of the sender has its own; undefined: the sender. */
  readonly returnPathDomain?: string
  /** The name servers that sending domains are checked with. Default: those of the machine. */
  readonly dnsServers?: readonly string[]
  /** Whether visitors may create workspaces. */
  readonly isSignUpOpen: boolean
  /** Whether an OWNER must verify an address before a workspace sends mail to others than its members. */
  readonly requiresVerifiedEmail: boolean
  readonly allowedNetworks: readonly string[]
  /** The quotas of a workspace for which the operator has set no others. */
  readonly quotas: Quotas
  readonly keys: Keys
  /** Default: `defaultPasswordCost`. */
  readonly passwordCost?: PasswordCost
  /** The size of the keys of sending domains. Default: `defaultKeyBits`. */
  readonly domainKeyBits?: number
  /** Default: `defaultDeadlines`. */
  readonly renderingDeadlines?: RenderingDeadlines
}

export type Actor =
  | { kind: 'user'; userId: UserId; role: Role; sessionId?: SessionId }
  /** `rights` limit a key to a part of what its role may do: see `auth/rights`. */
  | { kind: 'apiKey'; apiKeyId: ApiKeyId; role: Role; rights: readonly string[] | null }
  /** A visitor: through a form or a link in an email. */
  | { kind: 'public' }
  /** The worker. */
  | { kind: 'system' }

/** The id of the user or API key; null for visitors and the system. */
export function getActorId(actor: Actor): UserId | ApiKeyId | null {
  if (actor.kind === 'user') return actor.userId
  return actor.kind === 'apiKey' ? actor.apiKeyId : null
}

/** The context of functions that need no workspace, such as signup and login. */
export interface BaseCtx {
  readonly db: Db
  readonly requestId: string
  /** The W3C traceparent of the current span; undefined if tracing is disabled. */
  readonly traceparent?: string
  /** The IP address of the client, if there is one. */
  readonly address?: string
  readonly settings: Settings
  /** Whose host a request came to: no other workspace has pages there. Undefined at any other host. */
  readonly pagesHost?: PagesHost
}

/** The workspace that has a host, and those that had it before: the links that they mailed lead there. */
export interface PagesHost {
  readonly workspaceId: WorkspaceId
  readonly formerWorkspaceIds: readonly WorkspaceId[]
}

/** The first parameter of most functions: the pool or open transaction, the workspace and the actor. */
export interface Ctx extends BaseCtx {
  readonly workspaceId: WorkspaceId
  readonly actor: Actor
  /** Whether the workspace of the credential is suspended; undefined without a credential. */
  readonly isSuspended?: boolean
  /** The base URL of the public pages, if the workspace has a host: see `withPagesUrl`. */
  readonly pagesUrl?: string
}

export const pagesUrlOf = ({ pagesUrl, settings }: Ctx): string => pagesUrl ?? settings.publicUrl

/** The IP address of the client, as it is stored; null if there is none. */
export const clientAddressOf = ({ address }: BaseCtx): string | null => address?.slice(0, 100) ?? null

/** Throws `not_found` if a request to the host of one workspace is about another one. */
export function requireAtHost({ pagesHost }: BaseCtx, workspaceId: WorkspaceId): void {
  if (pagesHost && pagesHost.workspaceId !== workspaceId) throw notFound('Page')
}

/** The same for a link that was mailed, which goes on at a host that another workspace has taken since. */
export function requireLinkAtHost(base: BaseCtx, workspaceId: WorkspaceId): void {
  if (!base.pagesHost?.formerWorkspaceIds.includes(workspaceId)) requireAtHost(base, workspaceId)
}

/** The context of a visitor, in the workspace of a form, a list or a link in an email. */
export function publicContext(base: BaseCtx, workspaceId: WorkspaceId): Ctx {
  return { ...base, workspaceId, actor: { kind: 'public' } }
}

const maxRounds = 3

/**
 * Runs `work` in a transaction, or in a savepoint if a transaction is open. An error rolls back. After a deadlock, a
 * transaction that is not nested begins again, at most twice: so `work` must have no effects but those on the database.
 */
export function inTransaction<C extends BaseCtx, Result>(ctx: C, work: (ctx: C) => Promise<Result>): Promise<Result> {
  return repeatAfterDeadlock(ctx.db, (db) => work({ ...ctx, db }), { maxRounds })
}

export function settingsFrom(config: ApiConfig | WorkerConfig): Settings {
  return {
    publicUrl: config.PUBLIC_URL,
    mailFrom: config.MAIL_FROM,
    mailFromDomains: config.MAIL_FROM_DOMAINS,
    ...(config.RETURN_PATH_DOMAIN !== undefined && { returnPathDomain: config.RETURN_PATH_DOMAIN }),
    ...(config.DNS_SERVER.length > 0 && { dnsServers: config.DNS_SERVER }),
    isSignUpOpen: config.SIGN_UP === 'open',
    requiresVerifiedEmail: config.REQUIRE_VERIFIED_EMAIL,
    requiresVerifiedDomain: config.REQUIRE_VERIFIED_DOMAIN,
    allowedNetworks: config.WEBHOOK_ALLOWED_NETWORKS,
    quotas: quotasFrom(config),
    keys: deriveKeys(config.SECRET_KEY, config.SECRET_KEY_PREVIOUS),
  }
}
