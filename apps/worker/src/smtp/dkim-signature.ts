/**
 * DKIM signatures (RFC 6376): rsa-sha256, relaxed/relaxed. The signer of nodemailer lists each header at most once, so
 * that a header which is added on the way (a second From, Subject or List-Unsubscribe) leaves the signature valid. This
 * one lists each header once more than the message has it. mailauth verifies it in `mail-signature.int.test.ts`.
 */
import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { DkimKey } from '@rapport/core/runtime/config.ts'
import { LRUCache } from 'lru-cache'

/** RFC 8058 requires both headers of the one-click unsubscribe. */
const signedFields = [
  ['from', 'reply-to', 'to', 'cc', 'subject', 'date', 'message-id', 'mime-version', 'content-type'],
  ['content-transfer-encoding', 'list-id', 'list-unsubscribe', 'list-unsubscribe-post', 'feedback-id'],
  ['auto-submitted'],
].flat()

/** RSA takes about a millisecond: a thread computes it. */
const signInThread = promisify(
  (data: string, key: KeyObject, done: (error: Error | null, signature: Buffer) => void): void =>
    sign('sha256', Buffer.from(data, 'latin1'), key, done),
)

/** Parsing takes longer than looking up. The text of a key identifies it. */
const parsedKeys = new LRUCache<string, KeyObject>({ max: 500 })

function parseKey(pem: string): KeyObject {
  const key = parsedKeys.get(pem) ?? createPrivateKey(pem)
  parsedKeys.set(pem, key)
  return key
}

/** Returns the message, with CRLF line breaks, after a signature of its headers and body. */
export async function signMessage(message: Buffer, { domain, selector, privateKey }: DkimKey): Promise<Buffer> {
  const text = message.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const lines = new Map<string, string[]>()
  for (const field of text.slice(0, end).split(/\r\n(?![ \t])/)) {
    const [name, line] = relaxField(field)
    lines.set(name, [...(lines.get(name) ?? []), line])
  }
  const listed = signedFields.flatMap((name) => [...(lines.get(name) ?? []).map(() => name), name])
  const tags = [
    `v=1; a=rsa-sha256; c=relaxed/relaxed; d=${domain}; s=${selector}`,
    `h=${listed.join(':').replace(/.{1,70}:/g, '$&\r\n ')}`,
    `bh=${createHash('sha256')
      .update(relaxBody(text.slice(end + 4)), 'latin1')
      .digest('base64')}`,
    'b=',
  ]
  const signature = `DKIM-Signature: ${tags.join(';\r\n ')}`
  // Several headers of a name are signed from the last to the first.
  const signed = signedFields.flatMap((name) => lines.get(name)?.toReversed() ?? [])
  const data = [...signed, relaxField(signature)[1]].join('\r\n')
  const value = (await signInThread(data, parseKey(privateKey))).toString('base64')
  const folded = value.replace(/.{72}(?=.)/g, '$&\r\n ')
  return Buffer.concat([Buffer.from(`${signature}${folded}\r\n`), message])
}

/** The name of a header field, and the field in relaxed form (RFC 6376 §3.4.2). */
function relaxField(field: string): [name: string, line: string] {
  const at = field.indexOf(':')
  const name = field.slice(0, at).trim().toLowerCase()
  const value = field
    .slice(at + 1)
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
    .trim()
  return [name, `${name}:${value}`]
}

/** The body in relaxed form (RFC 6376 §3.4.4). */
function relaxBody(body: string): string {
  const relaxed = `${body}\r\n`.replace(/[ \t]+/g, ' ').replaceAll(' \r\n', '\r\n')
  let end = relaxed.length
  while (end > 0 && relaxed.startsWith('\r\n', end - 2)) end -= 2
  return end === 0 ? '' : `${relaxed.slice(0, end)}\r\n`
}
