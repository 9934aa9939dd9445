import { type AddressInfo, createServer } from 'node:net'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startImapServer } from '@rapport/testing/network/imap-server.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { expect, test } from 'vitest'
import { runDoctor } from './testing.ts'

const imap = useForTest(() => startImapServer())
const dns = useForFile(() => startNameServer({ denyUnknown: true }))
const examine = async (env: Record<string, string>) => (await runDoctor(env, dns.address))('Bounces')
const domain = 'bounces.example.com'

test('Bounces: without a return path and a port, there is nothing to check', async () => {
  expect(await examine({})).toEqual([])
  expect(await examine({ BOUNCE_PORT: '2525' })).toEqual(['warn: no email has a return path'])
})

test('Bounces: checks the MX record of the return path', async () => {
  const receiver = 'warn: no worker receives bounces'
  const findings = () => examine({ RETURN_PATH_DOMAIN: domain })
  expect(await findings()).toEqual([`fail: ${domain} has no MX record, so bounces are lost`, receiver])
  dns.setExchanges(domain, 'mx.example.com')
  expect(await findings()).toEqual([`ok: ${domain} has the mail server mx.example.com`, receiver])
})

test('Bounces: asks the name servers of DNS_SERVER', async () => {
  dns.setExchanges(domain, 'mx.example.com')
  const findings = await runDoctor({ RETURN_PATH_DOMAIN: domain, DNS_SERVER: dns.address })
  expect(findings('Bounces')).toContain(`ok: ${domain} has the mail server mx.example.com`)
})

test('Bounces: reads the greeting of the worker that listens', async () => {
  dns.setExchanges(domain, 'mx.example.com')
  let greeting = '220 mx ESMTP\r\n'
  const server = createServer((socket) => socket.on('error', () => {}).end(greeting))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const findings = async () =>
    (await examine({ RETURN_PATH_DOMAIN: domain, BOUNCE_PORT: String(port), BOUNCE_HOST: '0.0.0.0' })).slice(1)
  expect(await findings()).toEqual([`ok: 0.0.0.0:${port} receives bounces`])
  greeting = 'HTTP/1.1 400 Bad Request\r\n'
  expect(await findings()).toEqual([`fail: 0.0.0.0:${port} is not the port of a worker`])
  await new Promise((resolve) => server.close(resolve))
  expect(await findings()).toEqual([`fail: 0.0.0.0:${port}: connect ECONNREFUSED 127.0.0.1:${port}`])
})

test('Bounces: logs in and opens the mailbox without marking a message as seen', async () => {
  dns.setExchanges(domain, 'mx.example.com')
  imap.messages.push({ raw: 'Subject: bounce\r\n\r\n', seen: false })
  const commands: string[] = []
  let response: 'respond' | 'disconnect' = 'respond'
  imap.decide((command) => {
    commands.push(command)
    return command.startsWith('LOGIN') ? response : 'respond'
  })
  const findings = async (url: string) => (await examine({ RETURN_PATH_DOMAIN: domain, BOUNCE_IMAP_URL: url })).slice(1)
  const where = new URL(imap.url).host
  expect(await findings(imap.url)).toEqual([`ok: ${where} opens the mailbox INBOX`])
  expect(commands.filter((command) => /SELECT|STORE|FETCH/.test(command))).toEqual([])
  expect(imap.messages[0]?.seen).toBe(false)
  expect(await findings(imap.url.replace('secret', 'other'))).toEqual([`fail: ${where}: the login failed: wrong`])
  const unknown = `fail: ${where} cannot open the mailbox Spam: no such mailbox`
  expect(await findings(imap.url.replace('INBOX', 'Spam'))).toEqual([unknown])
  response = 'disconnect'
  expect(await findings(imap.url)).toEqual([expect.stringMatching(`^fail: ${where}: `)])
  await imap.close()
  expect(await findings(imap.url)).toEqual([`fail: ${where}: connect ECONNREFUSED ${where}`])
})
