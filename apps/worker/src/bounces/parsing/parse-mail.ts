import PostalMime, { type Email } from 'postal-mime'

const parserOptions = {
  forceRfc822Attachments: true,
  attachmentEncoding: 'utf8',
  maxNestingDepth: 20,
  maxHeadersSize: 128 * 1024,
} as const

/** Undefined: the mail exceeds one of these limits. */
export const parseMail = (raw: Uint8Array): Promise<Email | undefined> =>
  PostalMime.parse(raw, parserOptions).catch(() => undefined)

/** The parts of a type, as one text: some servers send one for each recipient. */
export function findParts(mail: Email, type: RegExp): string | undefined {
  const parts = mail.attachments.filter(({ mimeType }) => type.test(mimeType.toLowerCase()))
  const texts = parts.map(({ content }) => content).filter((content) => typeof content === 'string')
  return texts.length > 0 ? texts.join('\n\n') : undefined
}
