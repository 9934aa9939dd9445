import { unquoteLocalPart } from '@rapport/core/kernel/values/addresses.ts'
import type { Fields } from './field-groups.ts'

/** No address is as long, with its type and encoded. */
const maxValueLength = 1_000

/** Types such as `rfc822;` come before the address, and the original recipient is encoded as `xtext` (RFC 3461). */
export function addressesOf(fields: Fields, names: readonly string[]): string[] {
  const values = names.flatMap((name) => fields.get(name) ?? []).filter((value) => value.length <= maxValueLength)
  const addresses = values.map((value) => unquote(value.replace(/^[^;@]{0,40};/, '').trim()))
  const decoded = addresses.map((address) =>
    address.replace(/\+([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  )
  return [...new Set([...addresses, ...decoded])].filter((address) => address.includes('@') && address.length <= 320)
}

/** A name may stand before the address, and signs around it or its local part. */
const unquote = (value: string) =>
  unquoteLocalPart(/<([^<>]+)>$/.exec(value)?.[1] ?? value.replace(/^(["'<])(?!.*"@)|["'>]$/g, ''))

/** Each is compared with the recipient, which takes time in the process that sends emails. */
export const maxAddresses = 50
const maxTextLength = 8_000

/** The addresses in a text, without the signs around them. */
export const findAddresses = (text: string): string[] =>
  [...text.slice(0, maxTextLength).matchAll(/[^\s<>()[\]:;,"'@]{1,64}@[^\s<>()[\]:;,"'@]{1,255}/g)]
    .slice(0, maxAddresses)
    .map(([address]) => address.replace(/[.!?]+$/, ''))
