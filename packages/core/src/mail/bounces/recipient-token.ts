/**
 * The token in the envelope sender of a mail, `b+<token>@<return path>`, to which servers send bounces. It holds its data
 * and a truncated HMAC, so it needs no table, never expires, and is checked without a query: a listener refuses forged
 * ones at RCPT. A former SECRET_KEY stays valid while it is in `SECRET_KEY_PREVIOUS`.
 *
 * | bytes | content                                                                                         |
 * |-------|-------------------------------------------------------------------------------------------------|
 * | 8     | the start of the workspace's id: its time and 12 random bits. The recipient decides between two |
 * | 16    | the id of the contact, of an email from a template, or of a single mail                         |
 * | 3     | the end of the campaign's id, which distinguishes the campaigns of a contact; 0 without one     |
 * | 4     | a keyed tag of the address: a report may name an address, and counts only for this one          |
 * | 7     | the HMAC of the above: guesses are possible only online, at 2^-56 each                          |
 *
 * A local part has at most 64 characters (RFC 5321), and some servers change its case. Three complete ids do not fit. The
 * digits are 0-9 and a-v.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Keys } from '../../kernel/crypto.ts'
import type { Ctx } from '../../request/context.ts'
import {
  type CampaignId,
  type ContactId,
  type EmailId,
  idOf,
  type MailId,
  uuidOf,
  type WorkspaceId,
} from '../../kernel/ids.ts'
import { emailKey } from '../../kernel/values/email-key.ts'

/** The recipient of a campaign, an email from a template, or a single mail. */
export type TokenSubject = { campaignId: CampaignId; contactId: ContactId } | { emailId: EmailId } | { mailId: MailId }

export interface RecipientToken {
  isOfWorkspace: (id: WorkspaceId) => boolean
  /** The range of the ids of workspaces that the token may belong to. */
  workspaces: { first: WorkspaceId; last: WorkspaceId }
  subject: { contactId: ContactId; campaignSuffix: string } | { emailId: EmailId } | { mailId: MailId }
  /** Whether the mail was sent to this address. */
  isAddress: (email: string) => boolean
}

const localPrefix = 'b+'
const kinds = { campaign: 'c', email: 'e', mail: 'm' } as const
const [dataLength, tagLength, macLength] = [27, 4, 7]
const bitsPerDigit = 5
const digitCount = Math.ceil(((dataLength + tagLength + macLength) * 8) / bitsPerDigit)

/** The form of a token of any kind, as a part of a regular expression. A match may be forged. */
export const tokenPattern = `[${Object.values(kinds).join('')}][0-9a-v]{${digitCount}}`

const toBytes = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex')
const toUuid = (bytes: Buffer) => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

export function createRecipientToken(
  { returnPaths: [key] }: Keys,
  { workspaceId, subject, email }: { workspaceId: WorkspaceId; subject: TokenSubject; email: string },
): string {
  const workspace = toBytes(uuidOf(workspaceId)).subarray(0, 8)
  const isCampaign = 'campaignId' in subject
  const kind = isCampaign ? kinds.campaign : 'emailId' in subject ? kinds.email : kinds.mail
  const id = toBytes(uuidOf(isCampaign ? subject.contactId : 'emailId' in subject ? subject.emailId : subject.mailId))
  const campaign = isCampaign ? toBytes(uuidOf(subject.campaignId)).subarray(-3) : Buffer.alloc(3)
  const data = Buffer.concat([workspace, id, campaign])
  const tagged = Buffer.concat([data, computeTag(key, data, email)])
  return kind + toDigits(Buffer.concat([tagged, computeMac(key, kind, tagged)]))
}

/** The local part of the return path of a mail with this token. */
export const toReturnPath = (token: string) => `${localPrefix}${token}`

/** The return path of a mail, at the host that receives bounces. */
export function createReturnPath(
  { settings, workspaceId }: Pick<Ctx, 'settings' | 'workspaceId'>,
  { host, ...mail }: { host: string; subject: TokenSubject; email: string },
): string {
  return `${toReturnPath(createRecipientToken(settings.keys, { workspaceId, ...mail }))}@${host}`
}

/** Returns the token in a local part, in any case; undefined if there is none. It may be forged. */
export function findToken(localPart: string): string | undefined {
  const text = localPart.toLowerCase()
  return text.startsWith(localPrefix) ? text.slice(localPrefix.length) : undefined
}

/** Opens a token. Returns undefined if it is forged, damaged, or signed with an unknown key. */
export function openRecipientToken(keys: Keys, token: string): RecipientToken | undefined {
  const kind = token[0]
  const bytes = fromDigits(token.slice(1))
  if (!bytes || !isKind(kind)) return undefined
  const tagged = bytes.subarray(0, -macLength)
  const mac = bytes.subarray(-macLength)
  const key = keys.returnPaths.find((candidate) => timingSafeEqual(computeMac(candidate, kind, tagged), mac))
  if (!key) return undefined
  const data = tagged.subarray(0, dataLength)
  const tag = tagged.subarray(dataLength)
  const workspace = data.subarray(0, 8)
  const idWith = (rest: string) => idOf('wsp', toUuid(Buffer.concat([workspace, Buffer.from(rest, 'hex')])))
  const uuid = toUuid(data.subarray(8, 24))
  return {
    isOfWorkspace: (id) => toBytes(uuidOf(id)).subarray(0, 8).equals(workspace),
    // RFC 9562: the second half of an id starts with the bits 10.
    workspaces: { first: idWith('8000000000000000'), last: idWith('bfffffffffffffff') },
    subject: {
      c: { contactId: idOf('con', uuid), campaignSuffix: data.subarray(24).toString('hex') },
      e: { emailId: idOf('mai', uuid) },
      m: { mailId: idOf('mai', uuid) },
    }[kind],
    isAddress: (email) => timingSafeEqual(computeTag(key, data, email), tag),
  }
}

type Kind = (typeof kinds)[keyof typeof kinds]
const isKind = (text: string | undefined): text is Kind => Object.values<string | undefined>(kinds).includes(text)

const computeMac = (key: Buffer, kind: string, data: Buffer) =>
  createHmac('sha256', key).update(`token ${kind}`).update(data).digest().subarray(0, macLength)

const computeTag = (key: Buffer, data: Buffer, email: string) =>
  createHmac('sha256', key).update('address').update(data).update(emailKey(email)).digest().subarray(0, tagLength)

const toDigits = (bytes: Buffer) =>
  BigInt(`0x${bytes.toString('hex')}`)
    .toString(32)
    .padStart(digitCount, '0')

function fromDigits(text: string): Buffer | undefined {
  if (text.length !== digitCount || !/^[0-9a-v]+$/.test(text)) return undefined
  let number = 0n
  for (const digit of text) number = (number << BigInt(bitsPerDigit)) | BigInt(Number.parseInt(digit, 32))
  const hexLength = (dataLength + tagLength + macLength) * 2
  const hex = number.toString(16).padStart(hexLength, '0')
  return hex.length === hexLength ? Buffer.from(hex, 'hex') : undefined
}
