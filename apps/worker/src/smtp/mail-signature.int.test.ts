import { generateKeyPairSync } from 'node:crypto'
import { recordsOf } from '@rapport/core/domains/domain-records.ts'
import { readDomainRow } from '@rapport/core/domains/domains.ts'
import { returnPathOf } from '@rapport/core/domains/return-path.ts'
import { setSenderDomains } from '@rapport/core/domains/set-sender-domains.ts'
import { verifyDomain } from '@rapport/core/domains/verify-domain.ts'
import type { EncodedMail, OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { createTestCampaign, createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { judgeMail } from '@rapport/testing/network/judge-mail.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { addTestDomain, publishRecords, rotateDomainKey } from '@rapport/testing/network/sending-domains.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { renderFor } from '../../test/fixtures.ts'
import { openMailTransport } from './mail-transport.ts'

const database = useTestDatabase()
const dns = useForFile(() => startNameServer({ denyUnknown: true }))
const smtp = useForFile(startSmtpReceiver)
const returnPathDomain = 'bounces.rapport.example'
const name = 'engines.example'

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
/** The key of the installation. */
const dkim = { domain: 'example.com', selector: 'newsletter', privateKey }

let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db, { settings: { dnsServers: [dns.address], returnPathDomain } })
  dns.setTextRecords(returnPathDomain, 'v=spf1 ip4:192.0.2.1 -all')
  dns.setTextRecords('newsletter._domainkey.example.com', `v=DKIM1; p=${publicKey.toString('base64')}`)
  dns.setTextRecords('_dmarc.example.com', 'v=DMARC1; p=reject')
})

/** Sends a mail, and returns what the mail server received. */
async function send(mail: OutgoingMail | EncodedMail): Promise<string> {
  const transport = openMailTransport(smtp.url, dkim)
  expect(await transport.send(mail)).toMatchObject({ kind: 'sent' })
  transport.close()
  return smtp.mails.at(-1)?.raw.toString('latin1') ?? ''
}

async function sendCampaignMail(fromEmail: string | null): Promise<string> {
  const { id } = await createTestCampaign(ctx, {
    subject: 'Grüße',
    html: '<p>Hi {{ contact.firstName }}</p>',
    fromEmail,
  })
  return send(await renderFor(ctx, id, { ...(await createTestContact(ctx)), firstName: 'Ada' }))
}

async function judge(raw: string, sender?: string) {
  const returnPath = await returnPathOf(ctx, name)
  return judgeMail(Buffer.from(raw, 'latin1'), { dns, sender: sender ?? `bounce@${returnPath}` })
}

async function addPublishedDomain() {
  const domain = await addTestDomain(ctx, name)
  publishRecords(dns, ctx, domain)
  await verifyDomain(ctx, domain.id)
  return domain
}

const passed = { spf: 'pass', dkim: 'pass', dmarc: 'pass' }

describe("a mail from a workspace's own domain", () => {
  test('passes SPF, DKIM and DMARC, until one of the records is spoiled', async () => {
    const domain = await addPublishedDomain()
    const raw = await sendCampaignMail(`ada@${name}`)
    const { selector } = domain.keys.signing
    expect(await judge(raw)).toMatchObject({ ...passed, signedBy: { domain: name, selector } })
    const records = recordsOf(domain, ctx.settings).filter((record) => !record.name.startsWith('rp2-'))
    const mechanisms = { DKIM: 'dkim', RETURN_PATH: 'spf', DMARC: 'dmarc', HOST: 'dmarc' } as const
    for (const { purpose, type, name: recordName, value } of records) {
      const sender = `bounce@bounce.${name}`
      if (type === 'CNAME') dns.setAlias(recordName, 'elsewhere.example')
      else dns.setTextRecords(recordName, purpose === 'DKIM' ? 'v=DKIM1; p=' : 'v=DMARC1')
      const { [mechanisms[purpose]]: verdict } = await judge(raw, sender)
      expect([purpose, verdict]).not.toEqual([purpose, 'pass'])
      if (type === 'CNAME') dns.setAlias(recordName, value)
      else dns.setTextRecords(recordName, value)
      expect(await judge(raw, sender)).toMatchObject(passed)
    }
  })

  test('has its ids under the domain', async () => {
    await addPublishedDomain()
    const raw = await sendCampaignMail(`ada@${name}`)
    expect(raw).toMatch(/^Message-ID:\s+<cmp_\w{26}\.con_\w{26}@engines\.example>/m)
    expect(raw).toMatch(/^List-Id:\s+<lst_\w{26}\.engines\.example>/im)
    expect(raw).toMatch(/^Feedback-ID:\s+cmp_\w{26}:wsp_\w{26}:campaign:rapport/im)
  })

  test('is signed by the next key after a rotation, and the old record still verifies', async () => {
    const { id, keys } = await addPublishedDomain()
    const before = await sendCampaignMail(`ada@${name}`)
    await rotateDomainKey(ctx, id)
    const after = await sendCampaignMail(`ada@${name}`)
    expect(await judge(after)).toMatchObject({ ...passed, signedBy: { selector: keys.next.selector } })
    // Only what is listed now is published.
    dns.setTextRecords(`${keys.signing.selector}._domainkey.${name}`)
    publishRecords(dns, ctx, await readDomainRow(ctx, id))
    expect(await judge(before)).toMatchObject({ ...passed, signedBy: { selector: keys.signing.selector } })
  })

  test('that is not verified is signed by the installation', async () => {
    await addTestDomain(ctx, 'unverified.example')
    const raw = await sendCampaignMail('ada@unverified.example')
    expect(await judge(raw)).toMatchObject({ dkim: 'pass', signedBy: { domain: 'example.com' } })
  })

  test('is not signed with the key of another workspace with the domain', async () => {
    await addPublishedDomain()
    ctx = { ...(await createTestCtx(database.db)), settings: ctx.settings }
    // The operator alone can give it to both.
    await setSenderDomains(ctx, [name])
    const raw = await sendCampaignMail(`ada@${name}`)
    expect(await judge(raw)).toMatchObject({ signedBy: { domain: 'example.com' } })
  })
})

describe('the signature', () => {
  const from = { name: '', address: 'newsletter@example.com' }
  const to = { name: '', address: 'ada@example.com' }

  test('of a mail from MAIL_FROM is that of the installation', async () => {
    const verdict = await judge(await sendCampaignMail(null), 'newsletter@example.com')
    const signedBy = { domain: 'example.com', selector: 'newsletter' }
    expect(verdict).toMatchObject({ dkim: 'pass', dmarc: 'pass', signedBy })
  })

  test('breaks if the body or a signed header is changed, or a header is added', async () => {
    const raw = await sendCampaignMail(null)
    for (const [before, after] of [
      [/\r\nAda=\r\n/, '\r\nEve=\r\n'],
      [/List-Unsubscribe-Post: List/, 'List-Unsubscribe-Post: Lost'],
      [/List-Unsubscribe:\s+<https/, 'List-Unsubscribe: <http'],
    ] as const) {
      expect(raw).toMatch(before)
      expect((await judge(raw.replace(before, after))).dkim).toMatch(/^(fail|neutral)$/)
    }
    const { signedFields } = await judge(raw)
    expect(signedFields).toEqual(expect.arrayContaining(['list-unsubscribe', 'list-unsubscribe-post', 'feedback-id']))
    for (const field of new Set(signedFields)) {
      const added = raw.replace(/^(From: )/m, `${field}: added\r\n$1`)
      expect([field, (await judge(added)).dkim]).toEqual([field, 'fail'])
    }
  })

  test.each([
    'Hi Ada\nlong '.repeat(100),
    `${'Grüße '.repeat(300)}\n.\nend`,
    'trailing spaces  \n\tand tabs\t \n\n\n',
    ' \n \n',
  ])('is valid for the plain text %j', async (text) => {
    const raw = await send({ from, to, subject: 'Grüße  an\talle ', messageId: '<1@example.com>', text })
    expect((await judge(raw)).dkim).toBe('pass')
  })

  test('is computed before sending starts: the mail was not sent if the server is down', async () => {
    const transport = openMailTransport('smtp://127.0.0.1:1', dkim)
    const mail = { from, to, subject: 'News', messageId: '<1@example.com>', text: 'Hi' }
    expect(await transport.send(mail)).toMatchObject({ kind: 'refused', temporary: true })
    transport.close()
  })
})
