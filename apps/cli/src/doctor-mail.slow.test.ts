/** The doctor's checks of the mail server, the mailbox of bounces and of the DNS records of the sender. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { goodCertificate, testKey } from '@rapport/testing/network/certificates.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { SMTPServer } from 'smtp-server'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { containing, unreachableEnvironment, readFindings, runDoctor } from './testing.ts'

const dns = useForFile(() => startNameServer({ denyUnknown: true }))

const examine = (env: Record<string, string> = {}) => runDoctor(env, dns.address)

test('SMTP: checks the connection, TLS and the login without sending a mail', { timeout: 60_000 }, async () => {
  const commands: string[] = []
  const server = new SMTPServer({
    key: testKey,
    cert: goodCertificate,
    authMethods: ['PLAIN'],
    disableReverseLookup: true,
    closeTimeout: 1,
    onAuth: ({ username, password }, _session, done) =>
      password === 'right' ? done(null, { user: username }) : done(new Error('Wrong password')),
    onMailFrom: (_address, _session, done) => (commands.push('MAIL'), done()),
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  const directory = await mkdtemp(join(tmpdir(), 'rapport-doctor-'))
  const ca = join(directory, 'ca.pem')
  await writeFile(ca, goodCertificate)
  // Node reads NODE_EXTRA_CA_CERTS only at the start of a process.
  const examineTrusting = async (url: string) => {
    const { stdout, code } = await runProcess({
      script: 'apps/cli/src/main.ts',
      parameters: ['doctor', '--json'],
      env: { ...unreachableEnvironment, SMTP_URL: url, NODE_EXTRA_CA_CERTS: ca },
    })
    return readFindings(stdout, code)
  }

  const good = await examineTrusting(`smtp://ada:right@127.0.0.1:${port}`)
  expect(good('SMTP')).toEqual([
    `ok: 127.0.0.1:${port} accepts the connection and the login`,
    'ok: the connection is encrypted',
  ])
  const wrong = await examineTrusting(`smtp://ada:wrong@127.0.0.1:${port}`)
  expect(wrong('SMTP')).toEqual(containing('fail: the login failed: 535', 'ok: the connection is encrypted'))
  const distrusting = await examine({ SMTP_URL: `smtp://ada:right@127.0.0.1:${port}` })
  expect(distrusting('SMTP')).toEqual(containing('certificate'))
  expect(distrusting('SMTP')[0]).toMatch(/^fail/)
  expect((await examine())('SMTP')).toEqual(containing('fail: 127.0.0.1:1: connect ECONNREFUSED'))
  expect(commands).toEqual([])
  await new Promise<void>((resolve) => server.close(resolve))
  await rm(directory, { recursive: true })
})

const domain = 'news.example.com'

test('Sender: checks the SPF record, and the DMARC record of the domain or its parent', async () => {
  const nothing = await examine()
  expect(nothing('SPF')).toEqual([`warn: ${domain} has no SPF record`])
  expect(nothing('DKIM')).toEqual([
    'ok: Rapport does not sign emails from news.example.com: the mail server must sign them',
  ])
  expect(nothing('DMARC')).toEqual(containing(`warn: ${domain} has no DMARC record`))

  dns.setTextRecords(domain, 'some-other=text', 'v=spf1 include:mail.example.net -all')
  dns.setTextRecords('_dmarc.example.com', 'v=DMARC1; p=reject')
  const good = await examine()
  expect(good('SPF')).toEqual([`ok: ${domain}: v=spf1 include:mail.example.net -all`])
  expect(good('DMARC')).toEqual(['ok: example.com: v=DMARC1; p=reject'])

  dns.setTextRecords(domain, 'v=spf1 -all', 'v=spf1 mx -all')
  dns.setTextRecords(`_dmarc.${domain}`, 'v=DMARC1; p=none', 'v=DMARC1; p=reject')
  const twice = await examine()
  expect(twice('SPF')).toEqual([`fail: ${domain} has 2 records; only one is allowed`])
  expect(twice('DMARC')).toEqual([`fail: ${domain} has 2 records; only one is allowed`])
  dns.setTextRecords(domain, 'v=spf1 +all')
  expect((await examine())('SPF')).toEqual(containing('fail: news.example.com allows any server'))
})

test('Sender: the DKIM key in DNS must match the private key', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey
  const base64 = (key: KeyObject) => key.export({ type: 'spki', format: 'der' }).toString('base64')
  const env = {
    DKIM_DOMAIN: domain,
    DKIM_SELECTOR: 'mail',
    DKIM_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).replaceAll('\n', '\\n'),
  }
  const name = `mail._domainkey.${domain}`
  expect((await examine(env))('DKIM')).toEqual([`fail: there is no key at ${name}`])
  dns.setTextRecords(name, `v=DKIM1; k=rsa; p=${base64(other)}`)
  expect((await examine(env))('DKIM')).toEqual([`fail: the key at ${name} does not match DKIM_PRIVATE_KEY`])
  dns.setTextRecords(name, 'v=DKIM1; p=')
  expect((await examine(env))('DKIM')).toEqual([`fail: the key at ${name} is revoked`])
  dns.setTextRecords(name, `v=DKIM1; k=rsa; t=y; p=${base64(publicKey)}`)
  const right = `ok: the key at ${name} matches DKIM_PRIVATE_KEY`
  expect((await examine(env))('DKIM')).toEqual([right, ...containing('warn: the key is marked as a test key')])
  dns.setTextRecords(name, `k=rsa; p=${base64(publicKey).replace(/.{60}/g, '$& ')}`)
  expect((await examine(env))('DKIM')).toEqual([right])
  const elsewhere = await examine({ ...env, MAIL_FROM: 'hello@example.net' })
  expect(elsewhere('DKIM')).toEqual([
    right,
    `warn: DMARC ignores the signature: DKIM_DOMAIN ${domain} does not match example.net`,
  ])
})

test('Bounces: names a mailbox whose server does not respond, and the other findings', async () => {
  const server = createServer((socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const BOUNCE_IMAP_URL = `imap://bounces:secret@127.0.0.1:${port}`
  const findings = (await examine({ RETURN_PATH_DOMAIN: 'bounces.example.com', BOUNCE_IMAP_URL }))('Bounces')
  const response = `fail: 127.0.0.1:${port}: no response within 2.5 seconds`
  expect(findings).toEqual(['fail: bounces.example.com has no MX record, so bounces are lost', response])
  server.close()
})
