/** The rules for the senders that a workspace names. Without one, its mail is sent from `MAIL_FROM`. */
import { and, eq, inArray, ne } from 'drizzle-orm'
import { domains, senderDomains } from '../db/schema/index.ts'
import { AppError, conflict, invalidField } from '../kernel/errors.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { findDomainByName } from './domains.ts'
import { mailDomain } from '../mail/outgoing-mail.ts'
import { normalizeAddress } from '../mail/normalize-address.ts'

type WorkspaceRef = Pick<Ctx, 'db' | 'workspaceId'>

/** Describes `fromEmail` in requests. */
export const describeSender = (byDefault: string) => `The sender address. \`null\` for ${byDefault}. ${senderRules}`

const senderRules =
  'Must be at a domain that the workspace has verified (`POST /domains`), or that the operator gave to it. A workspace without given domains may also use any domain that the operator allows (`MAIL_FROM_DOMAINS`). A domain that the operator gave to another workspace, or that another workspace has verified, is not allowed: nor are its subdomains. The address of the operator (`MAIL_FROM`) is not allowed: it is the default if no sender is named.'

/**
 * Throws `validation_error` if the workspace may not name the sender, before it is stored. `MAIL_FROM` cannot be named:
 * it belongs to the operator.
 */
export async function checkNewSender(ctx: Ctx, email: string | null | undefined): Promise<void> {
  if (email && isMailFrom(ctx, email))
    throw invalidField('fromEmail', 'fromEmail: is the address of the operator: omit it to send from this address')
  await checkSender(ctx, email)
}

/** Throws `validation_error` if the workspace may not send from a stored sender: the rules may have changed since. */
async function checkSender(ctx: Ctx, email: string | null | undefined): Promise<void> {
  const problem = email && (await findSenderProblem(ctx, email))
  if (problem) throw invalidField('fromEmail', `fromEmail: ${problem}`)
}

/**
 * Throws like `checkSender` before a campaign is sent, from `MAIL_FROM` if it names no sender. Throws
 * `domain_not_verified` if the domain is verified by another workspace only, and with `REQUIRE_VERIFIED_DOMAIN` unless
 * the workspace has verified it, also that of `MAIL_FROM`.
 */
export async function requireSender(ctx: Ctx, email: string | null): Promise<void> {
  const domain = mailDomain(email ?? ctx.settings.mailFrom).toLowerCase()
  const isOwnedByOther = email !== null && !isMailFrom(ctx, email) && (await isVerifiedByOther(ctx, domain))
  if (!isOwnedByOther) await checkSender(ctx, email)
  if (!isOwnedByOther && !ctx.settings.requiresVerifiedDomain) return
  if (await hasVerifiedDomain(ctx, domain)) return
  const message = `The domain ${domain} is not verified: add it with POST /domains, and publish its records`
  throw conflict('domain_not_verified', message)
}

/** Returns the error that `requireSender` throws; undefined if the workspace may send from the address. */
export async function findSenderError(ctx: Ctx, email: string | null): Promise<AppError | undefined> {
  try {
    await requireSender(ctx, email)
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

/** Returns the first address that the workspace may send from, or `MAIL_FROM`. */
export async function senderAddress(ctx: Ctx, emails: readonly (string | null)[]): Promise<string> {
  for (const email of emails) if (email && !(await findSenderProblem(ctx, email))) return email
  return ctx.settings.mailFrom
}

const isMailFrom = ({ settings }: Ctx, email: string) => normalizeAddress(email) === normalizeAddress(settings.mailFrom)

/**
 * A workspace sends from the domains that it has verified. Beside them, a workspace with given domains sends only from
 * these, any other from every domain of `MAIL_FROM_DOMAINS`. Neither sends from a domain that the operator gave to
 * another workspace only, or that only another workspace has verified. A domain includes its subdomains, which share its
 * reputation and its DMARC policy.
 */
async function findSenderProblem(ctx: Ctx, email: string): Promise<string | undefined> {
  if (isMailFrom(ctx, email)) return undefined
  const { mailFromDomains } = ctx.settings
  const domain = mailDomain(email).toLowerCase()
  const given = await listSenderDomains(ctx)
  const isAllowed = [given, mailFromDomains].every((domains) => domains.length === 0 || domains.includes(domain))
  if (!isAllowed && !(await hasVerifiedDomain(ctx, domain))) {
    const allowed = given.length > 0 ? given : mailFromDomains
    return `must be an address at ${allowed.join(' or ')}, or at a domain that the workspace has verified`
  }
  if (!given.includes(domain) && (await isGivenToOther(ctx, domain))) return `must not be an address at ${domain}`
  if (await isVerifiedByOther(ctx, domain))
    return `must be an address at a domain that the workspace has verified: add ${domain} with POST /domains`
  return undefined
}

/**
 * Whether another workspace has verified the domain or a parent of it, but this one has not, and the operator gave it
 * neither.
 */
export async function isVerifiedByOther(ctx: WorkspaceRef, domain: string): Promise<boolean> {
  const rows = await ctx.db
    .select({ workspaceId: domains.workspaceId })
    .from(domains)
    .where(and(inArray(domains.name, withParents(domain)), eq(domains.status, 'VERIFIED')))
  const owners = new Set(rows.map(({ workspaceId }) => workspaceId))
  if (owners.size === 0 || owners.has(ctx.workspaceId)) return false
  return !(await listSenderDomains(ctx)).some((given) => withParents(domain).includes(given))
}

const hasVerifiedDomain = async (ctx: Ctx, name: string) => (await findDomainByName(ctx, name))?.status === 'VERIFIED'

/** Lists the domains that the operator gave to the workspace. */
export async function listSenderDomains(ctx: WorkspaceRef): Promise<string[]> {
  const rows = await ctx.db
    .select({ domain: senderDomains.domain })
    .from(senderDomains)
    .where(eq(senderDomains.workspaceId, ctx.workspaceId))
    .orderBy(senderDomains.domain)
  return rows.map(({ domain }) => domain)
}

export interface SharedDomain {
  domain: string
  /** Another workspace with the domain, a parent of it, or a part of it. */
  workspaceId: WorkspaceId
}

/** Lists the workspaces to which the operator gave the same domains, for the operator. */
export async function listSharedDomains(ctx: WorkspaceRef, given: readonly string[]): Promise<SharedDomain[]> {
  const rows = await ctx.db
    .select({ domain: senderDomains.domain, workspaceId: senderDomains.workspaceId })
    .from(senderDomains)
    .where(ne(senderDomains.workspaceId, ctx.workspaceId))
    .orderBy(senderDomains.domain, senderDomains.workspaceId)
  const isSame = (one: string, other: string) => withParents(one).includes(other) || withParents(other).includes(one)
  return rows.filter((row) => given.some((domain) => isSame(domain, row.domain)))
}

async function isGivenToOther(ctx: Ctx, domain: string): Promise<boolean> {
  const given = and(inArray(senderDomains.domain, withParents(domain)), ne(senderDomains.workspaceId, ctx.workspaceId))
  return (await ctx.db.$count(senderDomains, given)) > 0
}

function withParents(domain: string): string[] {
  const labels = domain.split('.')
  return labels.map((_label, at) => labels.slice(at).join('.'))
}
