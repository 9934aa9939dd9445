import { listMailedAt, findMailedAt, recipientKey } from '../../campaigns/recipient-reports.ts'
import type { AddressedContact } from '../../consent/consent-records.ts'
import { findEmailedAt, listEmailedAt } from '../../emails/email-reports.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'
import { emailKey, isSameAddress } from '../../kernel/values/email-key.ts'
import type { Ctx } from '../../request/context.ts'
import { isUndeliverable, minBounces, recordSoftBounces } from '../../suppressions/soft-bounces.ts'
import type { Reported, ReportedMail } from './find-reported-mails.ts'

interface Bounced extends Reported {
  contact: AddressedContact | undefined
}

/**
 * Counts the SOFT bounces among reports, and returns the addresses that are undeliverable by now. A bounce of a former
 * address does not concern the contact.
 */
export async function countSoftBounces(ctx: Ctx, reported: readonly Bounced[]): Promise<string[]> {
  const bounces = reported.flatMap(({ report, mail, contact }) =>
    report.class === 'SOFT' && contact && mail.address !== null && isSameAddress(mail.address, contact.email)
      ? [{ mail, contact, email: contact.email }]
      : [],
  )
  const moments = await findMoments(
    ctx,
    bounces.map(({ mail }) => mail),
  )
  const bounced = await recordSoftBounces(
    ctx,
    bounces.map(({ email }, at) => ({ email, mailedAt: moments[at] ?? timestampNow() })),
  )
  const momentsOf = ({ email }: AddressedContact) => bounced.get(emailKey(email)) ?? []
  const doubtful = new Map(
    bounces.flatMap(({ contact }) => (momentsOf(contact).length < minBounces ? [] : [[contact.id, contact] as const])),
  )
  if (doubtful.size === 0) return []
  const ids = [...doubtful.keys()]
  const [campaigns, emails] = [await listMailedAt(ctx, ids), await listEmailedAt(ctx, ids)]
  return [...doubtful.values()].flatMap((contact) => {
    const mailed = [...(campaigns.get(contact.id) ?? []), ...(emails.get(contact.id) ?? [])]
    return isUndeliverable(momentsOf(contact), mailed) ? contact.email : []
  })
}

/** When the emails were sent. Undefined of those that are not known. */
async function findMoments(ctx: Ctx, mails: readonly ReportedMail[]) {
  const campaigns = await findMailedAt(
    ctx,
    mails.flatMap(({ recipient }) => recipient ?? []),
  )
  const emails = await findEmailedAt(
    ctx,
    mails.flatMap(({ emailId }) => emailId ?? []),
  )
  return mails.map(({ recipient, emailId }) =>
    recipient ? campaigns.get(recipientKey(recipient)) : emailId && emails.get(emailId),
  )
}
