import type { Ctx } from '../request/context.ts'
import { returnPathHost } from './domain-name.ts'
import { findCheck, recordsOf } from './domain-records.ts'
import { findDomainByName } from './domains.ts'

/**
 * Returns the host of the envelope sender for mails from a domain: `bounce.<domain>` if the workspace has verified the
 * domain and its RETURN_PATH record, so that SPF is aligned; otherwise the domain of the installation. Undefined if the
 * installation receives no bounces.
 */
export async function returnPathOf(ctx: Ctx, senderDomain: string): Promise<string | undefined> {
  const { returnPathDomain } = ctx.settings
  if (returnPathDomain === undefined) return undefined
  const row = await findDomainByName(ctx, senderDomain.toLowerCase())
  if (row?.status !== 'VERIFIED') return returnPathDomain
  const record = recordsOf(row, ctx.settings).find(({ purpose }) => purpose === 'RETURN_PATH')
  const isVerified = record !== undefined && findCheck(row.checks, record)?.status === 'VERIFIED'
  return isVerified ? returnPathHost(row.name) : returnPathDomain
}
