import { mailDomain } from '../mail/outgoing-mail.ts'
import type { Ctx } from '../request/context.ts'
import type { DkimKey } from '../runtime/config.ts'
import { privateKeyOf } from './domain-keys.ts'
import { findDomainByName } from './domains.ts'

export interface SenderIdentity {
  /** The domain of the sender: the ids of its mails are under it. */
  domain: string
  /** Signs the mails, if the workspace has verified the domain. */
  dkim?: DkimKey
}

/** What the mails of a sender take from its domain. */
export async function readSenderIdentity(ctx: Ctx, address: string): Promise<SenderIdentity> {
  const domain = mailDomain(address).toLowerCase()
  const row = await findDomainByName(ctx, domain)
  if (row?.status !== 'VERIFIED') return { domain }
  const { signing } = row.keys
  const privateKey = privateKeyOf(ctx.settings.keys, row.id, signing)
  return { domain, dkim: { domain, selector: signing.selector, privateKey } }
}
