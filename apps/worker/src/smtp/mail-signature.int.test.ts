import { createHash, createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { createTestCampaign, createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { describe, expect, test } from 'vitest'
import { openMailTransport } from './mail-transport.ts'
import { renderFor } from '../../test/fixtures.ts'

describe('a DKIM signature', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const dkim = {
    domain: 'example.com',
    selector: 'newsletter',
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }

  test('covers the body and both headers of the one-click unsubscribe', async () => {
    const [database, smtp] = [await createTestDatabase(), await startSmtpReceiver()]
    const signing = openMailTransport(smtp.url, dkim)
    const ctx = await createTestCtx(database.db)
    const { id } = await createTestCampaign(ctx, { subject: 'Grüße', html: '<p>Hi {{ contact.firstName }}</p>' })
    const contact = await createTestContact(ctx)
    await signing.send(await renderFor(ctx, id, { ...contact, firstName: 'Ada' }))
    const raw = smtp.mails[0]?.raw.toString('latin1') ?? ''
    const { tags, isValid } = verifyDkim(raw, publicKey)
    expect(isValid).toBe(true)
    expect(tags).toMatchObject({ d: 'example.com', s: 'newsletter', a: 'rsa-sha256' })
    const signed = tags['h']?.split(':') ?? []
    expect(signed).toEqual(
      expect.arrayContaining(['from', 'to', 'subject', 'list-unsubscribe', 'list-unsubscribe-post']),
    )
    for (const [from, to] of [
      [/\r\nAda=\r\n/, '\r\nEve=\r\n'],
      [/List-Unsubscribe-Post: List/, 'List-Unsubscribe-Post: Lost'],
      [/List-Unsubscribe:\s+<https/, 'List-Unsubscribe: <http'],
    ] as const) {
      expect(raw).toMatch(from)
      expect(verifyDkim(raw.replace(from, to), publicKey).isValid).toBe(false)
    }
    signing.close()
    await smtp.close()
    await database.close()
  })

  test.each(['Hi Ada\nlong '.repeat(100), `${'Grüße '.repeat(300)}\n.\nend`])(
    'is valid for a plain text mail',
    async (text) => {
      const smtp = await startSmtpReceiver()
      const signing = openMailTransport(smtp.url, dkim)
      const from = { name: '', address: 'newsletter@example.com' }
      const to = { name: '', address: 'ada@example.com' }
      const mail = { from, to, subject: 'Grüße', messageId: '<1@example.com>', text }
      expect(await signing.send(mail)).toMatchObject({ kind: 'sent' })
      expect(verifyDkim(smtp.mails[0]?.raw.toString('latin1') ?? '', publicKey).isValid).toBe(true)
      await smtp.close()
      // The server is down. Composing and signing must not count as sending.
      expect(await signing.send(mail)).toMatchObject({ kind: 'refused', temporary: true })
      signing.close()
    },
  )
})

/** Verifies a DKIM signature as a mail server does (RFC 6376, relaxed/relaxed). */
function verifyDkim(raw: string, key: KeyObject) {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const fields = head.split(/\r\n(?![ \t])/).map((line) => {
    const [name = '', ...value] = line.split(':')
    return {
      name: name.toLowerCase().trim(),
      value: value
        .join(':')
        .replace(/\r\n/g, '')
        .replace(/[ \t]+/g, ' ')
        .trim(),
    }
  })
  const signature = fields.find(({ name }) => name === 'dkim-signature')?.value ?? ''
  const tags = Object.fromEntries(
    signature
      .split(';')
      .map((tag) => [tag.split('=')[0]?.trim(), tag.split('=').slice(1).join('=').replace(/\s/g, '')]),
  ) as Record<string, string>
  const body = rest
    .join('\r\n\r\n')
    .split('\r\n')
    .map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
  const canonical = `${body.join('\r\n').replace(/(\r\n)*$/, '')}\r\n`
  const bodyHash = createHash('sha256').update(canonical, 'latin1').digest('base64')
  const lines = (tags['h'] ?? '').split(':').map((headerName) => {
    const field = fields.findLast(({ name }) => name === headerName)
    return `${headerName}:${field?.value ?? ''}`
  })
  const unsigned = signature.replace(/(\bb=)[^;]*$/, '$1').trim()
  const data = [...lines, `dkim-signature:${unsigned}`].join('\r\n')
  const isSigned = createVerify('RSA-SHA256')
    .update(data, 'latin1')
    .verify(key, tags['b'] ?? '', 'base64')
  return { tags, isValid: isSigned && tags['bh'] === bodyHash }
}
