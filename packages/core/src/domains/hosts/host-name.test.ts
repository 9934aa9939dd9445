import { expect, test } from 'vitest'
import { HostName, requireHostOf, urlAtHost } from './host-name.ts'

test.each([
  ['News.Example.COM', 'news.example.com'],
  [' news.example.com. ', 'news.example.com'],
  ['büro.bücher.example', 'xn--bro-hoa.xn--bcher-kva.example'],
])('%s is a host', (text, host) => expect(HostName.parse(text)).toBe(host))

test.each([
  'https://news.example.com',
  'news.example.com:443',
  'news.example.com/news',
  'news',
  '192.0.2.1',
  '*.example.com',
  'a b.example.com',
  '',
])('%s is refused as a host', (text) => {
  const { success, error } = HostName.safeParse(text)
  expect(success).toBe(false)
  expect(error?.issues[0]?.message).toContain('no scheme, port or path')
})

const settings = { publicUrl: 'https://crm.example.com' }

test.each([
  ['the domain', 'client.example', 'client.example'],
  ['a name below it', 'client.example', 'news.client.example'],
])('a host is %s', (_title, name, host) => expect(() => requireHostOf(name, host, settings)).not.toThrow())

test.each([
  ['of another domain', 'client.example', 'news.other.example', 'validation_error'],
  ['that only ends alike', 'client.example', 'newsclient.example', 'validation_error'],
  ['above the domain', 'news.client.example', 'client.example', 'validation_error'],
  ['of the return path', 'client.example', 'bounce.client.example', 'validation_error'],
  ['of the installation', 'example.com', 'crm.example.com', 'already_exists'],
])('a host %s is refused', (...[, name, host, code]) =>
  expect(() => requireHostOf(name, host, settings)).toThrow(expect.objectContaining({ code })),
)

test('no host leads to an installation at an IP address', () => {
  const atAddress = { publicUrl: 'http://127.0.0.1:3000' }
  expect(() => requireHostOf('client.example', 'client.example', atAddress)).toThrow(/PUBLIC_URL to a domain name/)
})

test('a URL at a host keeps the scheme, port and path of PUBLIC_URL', () => {
  expect(urlAtHost(settings, 'news.client.example')).toBe('https://news.client.example')
  expect(urlAtHost({ publicUrl: 'http://crm.example:81/crm' }, 'a.example')).toBe('http://a.example:81/crm')
})
