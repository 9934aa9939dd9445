import { toMailName } from '../mail/mail-names.ts'
import { mailDomain, type OutgoingMail, toHeaderText } from '../mail/outgoing-mail.ts'
import type { Ctx } from '../request/context.ts'
import type { DkimKey } from '../runtime/config.ts'
import { privateKeyOf } from './domain-keys.ts'
import { findDomainByName } from './domains.ts'
import { senderAddress } from './senders.ts'

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

/** The sender that a campaign, a template or a workspace names. */
export interface NamedSender {
  fromName: string | null
  fromEmail: string | null
}

export interface SendingWorkspace extends NamedSender {
  name: string
}

/** The sender of a campaign or of a template: its own, or that of the workspace. */
export async function senderOf(
  ctx: Ctx,
  { fromName, fromEmail }: NamedSender,
  workspace: SendingWorkspace,
): Promise<{ name: string; address: string }> {
  const name = fromName ?? workspace.fromName ?? workspace.name
  const address = await senderAddress(ctx, [fromEmail, workspace.fromEmail])
  // Beside the address of the operator, a name must not look like another address.
  return { name: address === ctx.settings.mailFrom ? toMailName(name) : name, address }
}

/** The sender of a single mail of a workspace: its name for the text, and what `renderServiceMail` needs. */
export async function readWorkspaceSender(
  ctx: Ctx,
  workspace: SendingWorkspace,
): Promise<{ name: string; header: Pick<OutgoingMail, 'from' | 'dkim'> }> {
  const name = toMailName(workspace.fromName ?? workspace.name)
  const address = await senderAddress(ctx, [workspace.fromEmail])
  const { dkim } = await readSenderIdentity(ctx, address)
  return { name, header: { from: { name: toHeaderText(name), address }, ...(dkim && { dkim }) } }
}
