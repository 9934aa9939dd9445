import { expect, test } from 'vitest'
import { DomainName } from './domain-name.ts'

test.each([
  ['Example.COM', 'example.com'],
  [' news.example.co.uk. ', 'news.example.co.uk'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
])('%s is a domain', (text, name) => expect(DomainName.parse(text)).toBe(name))

test.each([
  ['com', 'must be a domain such as example.com'],
  ['co.uk', 'must be a domain below "co.uk", which is a public suffix'],
  ['192.0.2.1', 'not an IP address'],
  ['[2001:db8::1]', 'not an IP address'],
  ['ada@example.com', 'must be a domain such as example.com'],
  ['https://example.com', 'must be a domain such as example.com'],
  ['-a.example.com', 'must be a domain such as example.com'],
  ['xn--zzzzzz--.example', 'must be a domain such as example.com'],
  [`${'a'.repeat(60)}.`.repeat(4) + 'example.com', 'must be a domain such as example.com'],
  [`${'a'.repeat(60)}.`.repeat(3) + `${'b'.repeat(20)}.example.com`, 'must have at most 200 characters'],
  ['', 'must be a domain such as example.com'],
])('%s is refused', (text, message) => {
  const { success, error } = DomainName.safeParse(text)
  expect(success).toBe(false)
  expect(error?.issues[0]?.message).toContain(message)
})
