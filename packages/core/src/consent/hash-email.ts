/** Addresses that outlive their contact are kept as keyed hashes: they can be recognized, but not read. */
import { createHmac } from 'node:crypto'
import type { Keys } from '../kernel/crypto.ts'
import { emailKey } from '../kernel/values/email-key.ts'
import type { Ctx } from '../request/context.ts'

export interface Hashing extends Pick<Ctx, 'workspaceId'> {
  readonly settings: { readonly keys: Keys }
}

/** A keyed hash that differs by workspace: it identifies a known address but does not reveal it. */
export function hashEmail(ctx: Hashing, email: string): string {
  return hashWith(ctx.settings.keys.optOuts[0], ctx, email)
}

/** Returns the hashes of an address with the current key and with all former keys. */
export function hashEmailWithAllKeys(ctx: Hashing, email: string): string[] {
  return ctx.settings.keys.optOuts.map((key) => hashWith(key, ctx, email))
}

/** The addresses by their hashes, with all keys. */
export function hashEmails(ctx: Hashing, emails: readonly string[]): Map<string, string> {
  return new Map(emails.flatMap((email) => hashEmailWithAllKeys(ctx, email).map((hash) => [hash, email])))
}

/** The hashes of addresses with the current key, by those with all keys. */
export function mapToCurrentHashes(ctx: Hashing, emails: readonly string[]): Map<string, string> {
  const hashes = [...new Set(emails.map(emailKey))].map((email) => hashEmailWithAllKeys(ctx, email))
  return new Map(hashes.flatMap((ofEmail) => ofEmail.map((hash) => [hash, ofEmail[0] ?? hash])))
}

function hashWith(key: Buffer, ctx: Hashing, email: string): string {
  return createHmac('sha256', key)
    .update(`${ctx.workspaceId} ${emailKey(email)}`)
    .digest('base64url')
}
