import { eq } from 'drizzle-orm'
import { workspaces } from '../../db/schema/index.ts'
import { readSenderIdentity } from '../../domains/sender-identity.ts'
import { senderAddress } from '../../domains/senders.ts'
import { toMailName } from '../../mail/mail-names.ts'
import type { Mail } from '../../mail/mails.ts'
import { toHeaderText, type OutgoingMail } from '../../mail/outgoing-mail.ts'
import { renderServiceMail } from '../../mail/service-mail.ts'
import type { Ctx } from '../../request/context.ts'
import { findRequest } from './change-consent.ts'
import { findConsentRow } from './tracking-consents.ts'
import { trackingConfirmationUrl } from './tracking-links.ts'
import type { TrackedAction } from './tracking-level.ts'

/** Renders the email that asks a contact to confirm a grant. Returns undefined if the request no longer exists. */
export async function renderTrackingMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const { contactId, tracking: scope } = mail.data
  if (!contactId || !scope) return undefined
  const open = findRequest((await findConsentRow(ctx, contactId)) ?? { proofs: [] })
  const [workspace] = await ctx.db.select().from(workspaces).where(eq(workspaces.id, ctx.workspaceId))
  if (!open || !workspace) return undefined
  const sender = toMailName(workspace.fromName ?? workspace.name)
  const address = await senderAddress(ctx, [workspace.fromEmail])
  const { dkim } = await readSenderIdentity(ctx, address)
  return renderServiceMail(ctx, mail, {
    from: { name: toHeaderText(sender), address },
    ...(dkim && { dkim }),
    title: `Confirm what ${sender} may record`,
    paragraphs: [`Please confirm that ${sender} may record ${describeTracking(scope)}.`],
    // Derived from the creation time of the mail, so that a duplicate contains the same link.
    button: {
      label: 'Confirm',
      url: trackingConfirmationUrl(ctx, { contactId, email: mail.toAddress, issuedAt: mail.createdAt, scope }),
    },
    small:
      'This link expires in seven days. If you did not request this, ignore this email and nothing will be recorded.',
  })
}

/** For mails and pages: "when you open its emails and which links in them you click". */
export function describeTracking(scope: readonly TrackedAction[]): string {
  const texts = { opens: 'when you open its emails', clicks: 'which links in its emails you click' }
  return scope.map((action) => texts[action]).join(' and ')
}
