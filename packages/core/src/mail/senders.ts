/** The rules for the senders that a workspace names. Without one, its mail is sent from `MAIL_FROM`. */
import { and, eq, inArray, ne } from 'drizzle-orm'
import { senderDomains } from '../db/schema/index.ts'
import { invalidField } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'
import { mailDomain } from './outgoing-mail.ts'
import { normalizeAddress } from './normalize-address.ts'

/** Describes `fromEmail` in requests. */
export const describeSender = (byDefault: string) => `The sender address. \`null\` for ${byDefault}. ${senderRules}`

const senderRules =
  'Must be at a domain that the operator gave to the workspace. A workspace without such domains may use any domain that the operator allows (`MAIL_FROM_DOMAINS`) and gave to no other workspace. The address of the operator (`MAIL_FROM`) is not allowed: it is the default if no sender is named.'

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
export async function checkSender(ctx: Ctx, email: string | null | undefined): Promise<void> {
  const problem = email && (await findSenderProblem(ctx, email))
  if (problem) throw invalidField('fromEmail', `fromEmail: ${problem}`)
}

/** Returns the first address that the workspace may send from, or `MAIL_FROM`. */
export async function senderAddress(ctx: Ctx, emails: readonly (string | null)[]): Promise<string> {
  for (const email of emails) if (email && !(await findSenderProblem(ctx, email))) return email
  return ctx.settings.mailFrom
}

const isMailFrom = ({ settings }: Ctx, email: string) => normalizeAddress(email) === normalizeAddress(settings.mailFrom)

/**
 * A workspace with domains of its own sends only from these. Any other workspace sends from every domain that the
 * operator gave to no workspace. A given domain includes its subdomains, which share its reputation and its DMARC
 * policy.
 */
async function findSenderProblem(ctx: Ctx, email: string): Promise<string | undefined> {
  if (isMailFrom(ctx, email)) return undefined
  const { mailFromDomains } = ctx.settings
  const domain = mailDomain(email).toLowerCase()
  const own = await listSenderDomains(ctx)
  const allowed = own.length > 0 ? own : mailFromDomains
  const isAllowed = [own, mailFromDomains].every((domains) => domains.length === 0 || domains.includes(domain))
  if (!isAllowed) return `must be an address at ${allowed.join(' or ')}`
  if (own.length === 0 && (await isGivenToOther(ctx, domain))) return `must not be an address at ${domain}`
  return undefined
}

/** Lists the domains that the operator gave to the workspace. */
export async function listSenderDomains(ctx: Ctx): Promise<string[]> {
  const rows = await ctx.db
    .select({ domain: senderDomains.domain })
    .from(senderDomains)
    .where(eq(senderDomains.workspaceId, ctx.workspaceId))
    .orderBy(senderDomains.domain)
  return rows.map(({ domain }) => domain)
}

async function isGivenToOther(ctx: Ctx, domain: string): Promise<boolean> {
  const labels = domain.split('.')
  const withParents = labels.map((_label, at) => labels.slice(at).join('.'))
  const given = and(inArray(senderDomains.domain, withParents), ne(senderDomains.workspaceId, ctx.workspaceId))
  return (await ctx.db.$count(senderDomains, given)) > 0
}
