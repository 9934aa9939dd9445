import { describe, expect, test } from 'vitest'
import { readApiConfig } from '../runtime/config.ts'
import { checkWebhookUrl, isAllowedAddress } from './address-policy.ts'

/** From the IANA registries of special-purpose addresses: the first, one other and the last address of each range. */
const special: Record<string, string[]> = {
  'this network': ['0.0.0.0', '0.1.2.3', '0.255.255.255'],
  'private 10/8': ['10.0.0.0', '10.1.2.3', '10.255.255.255'],
  'shared 100.64/10': ['100.64.0.0', '100.100.100.200', '100.127.255.255'],
  'loopback 127/8': ['127.0.0.0', '127.0.0.1', '127.255.255.255'],
  'link-local with the metadata service': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  'private 172.16/12': ['172.16.0.0', '172.20.1.1', '172.31.255.255'],
  'IETF 192.0.0/24': ['192.0.0.0', '192.0.0.170', '192.0.0.255'],
  'documentation 1': ['192.0.2.0', '192.0.2.255'],
  '6to4 relay': ['192.88.99.0', '192.88.99.255'],
  'private 192.168/16': ['192.168.0.0', '192.168.1.1', '192.168.255.255'],
  'benchmarking 198.18/15': ['198.18.0.0', '198.19.255.255'],
  'documentation 2': ['198.51.100.0', '198.51.100.255'],
  'documentation 3': ['203.0.113.0', '203.0.113.255'],
  'multicast 224/4': ['224.0.0.0', '224.0.0.251', '239.255.255.255'],
  'reserved 240/4': ['240.0.0.0', '250.1.2.3', '255.255.255.254'],
  broadcast: ['255.255.255.255'],
  'unspecified and compatible ::/96': ['::', '::7f00:1', '::a00:1', '::ffff'],
  'loopback ::1': ['::1', '0:0:0:0:0:0:0:1'],
  'mapped private': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:169.254.169.254', '::ffff:0:0'],
  'translated ::ffff:0:0/96': ['::ffff:0:7f00:1', '::ffff:0:808:808'],
  'NAT64 64:ff9b::/96': ['64:ff9b::7f00:1', '64:ff9b::169.254.169.254', '64:ff9b::808:808'],
  'local NAT64 64:ff9b:1::/48': ['64:ff9b:1::', '64:ff9b:1::7f00:1'],
  'discard 100::/64': ['100::', '100::1', '100::ffff:ffff:ffff:ffff'],
  'dummy 100:0:0:1::/64': ['100:0:0:1::', '100:0:0:1::1'],
  'protocol assignments 2001::/23, Teredo among them': ['2001::', '2001:0:7f00:1::', '2001:10::1', '2001:1ff:ffff::1'],
  'documentation 2001:db8::/32': ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  '6to4 2002::/16': ['2002::', '2002:7f00:1::', '2002:a00:1::1', '2002:ffff::'],
  'documentation 3fff::/20': ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'segment routing 5f00::/16': ['5f00::', '5f00:ffff::1'],
  'unique local fc00::/7': ['fc00::', 'fd12:3456::1', 'fdff:ffff::1', 'fd00:ec2::254'],
  'link-local fe80::/10': ['fe80::', 'fe80::1', 'fe80::1%eth0', 'febf:ffff::1'],
  'site-local fec0::/10': ['fec0::', 'fec0::1', 'feff::1'],
  'multicast ff00::/8': ['ff00::', 'ff02::1', 'ffff::1'],
  'never assigned': ['1::1', '1fff::1', '4000::1', '8000::', 'e000::1'],
}
const neighbours = [
  ['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
  ['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.0.3.0', '192.167.255.255'],
  ['192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255', '8.8.8.8', '::ffff:8.8.8.8'],
  ['2000::1', '2001:200::1', '2001:4860:4860::8888', '2001:db7::1', '2001:db9::1', '2003::1', '2606:4700::1111'],
  ['3ffe::1', '3fff:1000::1'],
].flat()

describe('without an allowed network, as in production', () => {
  test.each(Object.entries(special))('%s is not allowed', (_range, addresses) => {
    expect(addresses.filter((address) => isAllowedAddress(address, []))).toEqual([])
  })

  test('public addresses are allowed, up to the bounds of the special ranges', () => {
    expect(neighbours.filter((address) => !isAllowedAddress(address, []))).toEqual([])
  })

  test('an invalid address is not allowed', () => {
    const none = ['', 'localhost', 'example.com', '1.2.3.4.5', '256.1.1.1', ':::', '1::2::3', '8.8.8.8/8', ' 8.8.8.8']
    expect(none.filter((address) => isAllowedAddress(address, []))).toEqual([])
  })

  test('no network is allowed by default', () => {
    const config = readApiConfig({
      DATABASE_URL: 'postgres://localhost/rapport',
      PUBLIC_URL: 'https://crm.example.com',
      SECRET_KEY: 'V2hvIHJlYWRzIHRoaXMgaGFzIGdvb2QgZXllcw==',
      MAIL_FROM: 'newsletter@example.com',
    })
    expect(config.WEBHOOK_ALLOWED_NETWORKS).toEqual([])
  })
})

describe('with allowed networks', () => {
  const networks = ['127.0.0.0/8', 'fd00::/8', '10.1.0.0/16']

  test('only addresses in these networks are allowed, including mapped ones', () => {
    const allowed = ['127.0.0.1', '127.9.9.9', '::ffff:127.0.0.1', 'fd00::1', '10.1.255.255', '8.8.8.8']
    expect(allowed.filter((address) => !isAllowedAddress(address, networks))).toEqual([])
    const refused = ['10.2.0.0', '10.0.255.255', '::1', 'fc00::1', '192.168.0.1', '64:ff9b::7f00:1', '2002:7f00:1::']
    expect(refused.filter((address) => isAllowedAddress(address, networks))).toEqual([])
  })
})

describe('the URL of a webhook', () => {
  const refusal = (url: string, networks: string[] = []) => {
    try {
      checkWebhookUrl(url, networks)
      return 'allowed'
    } catch (error) {
      expect(error).toMatchObject({ code: 'validation_error', issues: [{ path: 'url' }] })
      return (error as Error).message
    }
  }

  test.each(
    [
      ['http://127.0.0.1', 'http://127.0.0.1:8080/x?y', 'https://127.0.0.1/', 'http://127.1', 'http://127.0.1'],
      ['http://2130706433', 'http://0x7f000001', 'http://0x7f.1', 'http://0177.0.0.1', 'http://017700000001'],
      [
        'http://0x7F.0x0.0x0.0x1',
        'http://0/',
        'http://0',
        'http://00000000',
        'http://127.0.0.1.',
        'http://127.0.0.1..',
        'http://2130706433.',
      ],
      [
        'http://１２７.０.０.１',
        'http://①②⑦.⓪.⓪.①',
        'http://127。0。0。1',
        'http://127．0．0．1',
        'http://%31%32%37.0.0.1',
      ],
      [
        'http://127.0.0.1%2e',
        'http://[::1]',
        'http://[::1]:80/',
        'http://[0:0:0:0:0:0:0:1]',
        'http://[::ffff:127.0.0.1]',
      ],
      [
        'http://[::ffff:7f00:1]',
        'http://[::127.0.0.1]',
        'http://[64:ff9b::7f00:1]',
        'http://[2002:7f00:1::]',
        'http://[fe80::1]',
      ],
      ['http://169.254.169.254/latest/meta-data', 'http://[fd00:ec2::254]', 'http://10.0.0.1', 'http://192.168.1.1'],
      ['http://localhost', 'http://LOCALHOST', 'http://localhost.', 'http://x.localhost', 'http://a.b.localhost:8080'],
      [
        'http://ｌｏｃａｌｈｏｓｔ',
        'http:127.0.0.1',
        'http:\\\\127.0.0.1',
        'http:/127.0.0.1',
        'http://127.0.0.1\\@example.com',
      ],
      ['http://255.255.255.255', 'http://localhost%2e', 'http://0x7f。1', 'http://１２７.1', 'http://127.0.0.1:443'],
    ].flat(),
  )('%s is recognized as a private address', (url) => {
    expect(refusal(url)).toMatch(/must not point to a private address|must be an http or https URL/)
  })

  test.each(
    [
      [
        'http://user:password@example.com',
        'http://user@example.com',
        'http://:password@example.com',
        'http://good@127.0.0.1',
      ],
      ['https://example.com@127.0.0.1/', 'http://%40@example.com'],
    ].flat(),
  )('%s is rejected because of its credentials', (url) => {
    expect(refusal(url)).toBe('url: must not contain a user name or password')
  })

  test.each(
    [
      [
        '',
        ' ',
        'example.com',
        '//example.com',
        '/path',
        'ftp://example.com',
        'file:///etc/passwd',
        'gopher://example.com',
      ],
      [
        'javascript:alert(1)',
        'data:text/plain,x',
        'http://',
        'https://',
        'http://[',
        'http://[::1',
        'http://exa mple.com',
      ],
      [
        'http://example.com:99999',
        'http://example.com:-1',
        'http://256.1.1.1',
        'http://1.2.3.4.5',
        'http://ex%00ample.com',
      ],
      ['ws://example.com', 'blob:https://example.com/x', 'http://example.com:80a', 'unix:/var/run/docker.sock'],
      ['http://#@example.com/', 'http://?x', 'hTTp:example.com', ' http://example.com'],
    ].flat(),
  )('"%s" is not an http or https URL', (url) => {
    expect(refusal(url)).toBe('url: must be an http or https URL')
  })

  test.each(['http://example..com', 'http://.example.com'])('%s has an empty label', (url) => {
    expect(refusal(url)).toBe('url: must not have an empty label in its hostname')
  })

  test('the limit counts the characters that are stored', () => {
    expect(refusal(`https://example.com/${'é'.repeat(338)}`)).toBe('allowed')
    expect(refusal(`https://example.com/${'é'.repeat(339)}`)).toBe(
      'url: must have at most 2048 characters when encoded',
    )
  })

  test.each([0, 1, 22, 25, 53, 79, 81, 442, 444, 465, 587, 1023])('port %d is rejected', (port) => {
    expect(refusal(`http://example.com:${port}/`)).toBe(`url: must not use port ${port}`)
    expect(refusal(`https://8.8.8.8:${port}/`)).toBe(`url: must not use port ${port}`)
  })

  test.each([
    ['https://example.com/hook', 'https://example.com/hook'],
    ['http://example.com:80', 'http://example.com/'],
    ['https://example.com:8443/a?b=c#d', 'https://example.com:8443/a?b=c#d'],
    ['http://example.com:443/', 'http://example.com:443/'],
    ['http://8.8.8.8:1024/', 'http://8.8.8.8:1024/'],
    ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
    ['HTTPS://EXAMPLE.com/A', 'https://example.com/A'],
    ['https://münchen.example/', 'https://xn--mnchen-3ya.example/'],
    ['https://localhost.example.com/', 'https://localhost.example.com/'],
    ['https://notlocalhost.example/', 'https://notlocalhost.example/'],
    ['https://internal.example.com/', 'https://internal.example.com/'],
    ['https://home.example.arpa/', 'https://home.example.arpa/'],
    ['https://mylocal.example/', 'https://mylocal.example/'],
    ['https://example.com./hook', 'https://example.com./hook'],
    ['https://example.com/@user', 'https://example.com/@user'],
  ])('%s is saved as %s', (url, kept) => {
    expect(checkWebhookUrl(url, [])).toBe(kept)
  })

  const privateNames = [
    [
      'redis',
      'REDIS',
      'redis.',
      'redis..',
      'notlocalhost',
      'metadata',
      'ai',
      'a-b',
      'a_b',
      'ｒｅｄｉｓ',
      'xn--mnchen-3ya',
    ],
    [
      'metadata.google.internal',
      'METADATA.GOOGLE.INTERNAL.',
      'internal',
      'api.internal',
      'api。internal',
      'a.internal%2e',
    ],
    ['printer.local', 'printer.local.', 'svc.cluster.local', 'ｐrinter.local', 'nas.home.arpa', 'home.arpa'],
    ['host.localdomain', 'wiki.intranet', 'wiki.corp', 'nas.home', 'router.lan', 'vault.private'],
  ].flat()
  test.each(privateNames)('the hostname %s is refused, unless the operator allows a network', (name) => {
    expect(refusal(`https://${name}/hook`)).toBe(
      'url: must have a public hostname, unless the operator allows a private network with WEBHOOK_ALLOWED_NETWORKS',
    )
    expect(refusal(`https://${name}/hook`, ['172.16.0.0/12'])).toBe('allowed')
  })

  test('private addresses and localhost are accepted in an allowed network', () => {
    expect(refusal('http://127.0.0.1:4711/', ['127.0.0.0/8'])).toBe('allowed')
    expect(refusal('http://localhost:4711/', ['127.0.0.0/8'])).toBe('allowed')
    expect(refusal('http://10.0.0.1/', ['127.0.0.0/8'])).not.toBe('allowed')
  })
})
