import type { CampaignId, TemplateId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { DkimKey } from '../runtime/config.ts'
import type { AnyMailKind } from './mails.ts'
import type { Parts } from './mime.ts'

/** A rendered mail, ready for the transport. */
export type OutgoingMail = MailHeader & Parts<string> & { attachment?: MailAttachment }

export interface MailAttachment {
  name: string
  type: string
  content: string
}

/** A mail whose parts, text and HTML in this order, were encoded by `encodePart`. */
export type EncodedMail = MailHeader & { parts: Uint8Array[] }

/** Names and addresses are separate, so that no joined string has to be parsed. */
export interface MailHeader {
  from: { name: string; address: string }
  to: { name: string; address: string }
  /** The sender in the envelope, to which servers send bounces. Default: the address of `from`. */
  returnPath?: string
  replyTo?: string
  subject: string
  messageId: string
  headers?: Record<string, string>
  /** The key that signs instead of the key of the installation. */
  dkim?: DkimKey
}

/**
 * Replaces line breaks and other control characters, so that text cannot inject a header. Separates the start of an
 * encoded word (RFC 2047), such as `=?utf-8?Q?…?=`: mail programs would show what it hides, also inside quotes.
 */
export function toHeaderText(text: string): string {
  return text
    .replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')
    .replace(/=\?(?=[\w*-]+\?[bq]\?)/gi, '= ?')
    .trim()
}

/**
 * The header by which Gmail groups its spam statistics: by campaign or template, workspace, kind and installation. A mail
 * of neither is `single`.
 */
export function feedbackId(
  { workspaceId }: Ctx,
  kind: AnyMailKind,
  source?: CampaignId | TemplateId,
): Record<string, string> {
  return { 'Feedback-ID': `${source ?? 'single'}:${workspaceId}:${kind.toLowerCase()}:rapport` }
}

/** Returns the domain of an address. */
export function mailDomain(mailFrom: string): string {
  return mailFrom.slice(mailFrom.lastIndexOf('@') + 1)
}
