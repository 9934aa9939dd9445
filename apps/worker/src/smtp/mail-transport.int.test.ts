/** Mails as a mail server receives them, byte by byte. */
import { type AddressInfo, createServer } from 'node:net'
import type { CampaignInput } from '@rapport/core/campaigns/campaigns.schema.ts'
import { contactExample } from '@rapport/core/contacts/contacts.schema.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { openUnsubscribe } from '@rapport/core/lists/subscription-links.ts'
import { type Recipient, toRecipient } from '@rapport/core/rendering/recipient.ts'
import { createTestCampaign, createTestContact } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openMailTransport } from './mail-transport.ts'
import { renderFor } from '../../test/fixtures.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForFile(() => startSmtpReceiver())
const transport = useForFile(() => openMailTransport(smtp.url))
afterEach(() => smtp.decide(() => 'accept'))

const ada = toRecipient(contactExample)

/** Sends the campaign to a new contact. Returns the mail that the server received. */
async function sendAndReceive(campaign: Partial<CampaignInput>, recipient: Partial<Recipient> = {}) {
  const { id, listId } = await createTestCampaign(ctx, campaign)
  const contact = await createTestContact(ctx)
  const rendered = await renderFor(ctx, id, { ...ada, ...recipient, id: contact.id })
  const before = smtp.mails.length
  expect(await transport.send(rendered)).toMatchObject({ kind: 'sent' })
  const [mail, ...others] = smtp.mails.slice(before)
  if (!mail || others.length > 0) throw new Error(`Expected one mail, received ${others.length + 1}`)
  return { ...mail, campaignId: id, listId, contactId: contact.id, head: headOf(mail.raw) }
}

/** The header names in lower case, and the header lines as they were sent. */
function headOf(raw: Buffer) {
  const [head = ''] = raw.toString('latin1').split('\r\n\r\n')
  const lines = head.split('\r\n')
  const names = lines.filter((line) => !/^[ \t]/.test(line)).map((line) => line.replace(/:.*/, '').toLowerCase())
  return { names: names.toSorted(), text: lines.join('\n') }
}

const expectedNames = [
  ['from', 'to', 'subject', 'message-id', 'list-id', 'list-unsubscribe', 'list-unsubscribe-post', 'feedback-id'],
  ['date', 'mime-version', 'content-type'],
].flat()
const expectedPlainTextNames = [...expectedNames, 'content-transfer-encoding']

test('returns the id that the server gave the mail', async () => {
  const { id } = await createTestCampaign(ctx)
  const rendered = await renderFor(ctx, id, { ...ada, id: (await createTestContact(ctx)).id })
  const outcome = await transport.send(rendered)
  expect(outcome).toEqual({ kind: 'sent', providerMessageId: `receiver-${smtp.mails.length}` })
})

describe('a campaign mail', () => {
  test('has the headers that large mail providers require of bulk mail, and no others', async () => {
    const mail = await sendAndReceive({
      subject: 'News',
      html: '<p>Hi {{ contact.firstName }}</p>',
      replyTo: 'reply@example.com',
    })
    expect(mail.head.names).toEqual([...expectedNames, 'reply-to'].toSorted())
    expect(mail.headers).toMatchObject({
      from: 'Analytical Engines <newsletter@example.com>',
      to: 'Ada Lovelace <ada@example.com>',
      'reply-to': 'reply@example.com',
      subject: 'News',
      'list-id': `<${mail.listId}.example.com>`,
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      'message-id': `<${mail.campaignId}.${mail.contactId}@example.com>`,
    })
    expect([mail.from, mail.to]).toEqual(['newsletter@example.com', ['ada@example.com']])
  })

  test('has the same unsubscribe link in its header and in its body', async () => {
    const mail = await sendAndReceive({ html: '<p>Hi</p>' })
    const link = /^<(https:\/\/crm\.example\.com\/public\/unsubscribe\?token=([\w.-]+))>$/
    const [, url = '', token = ''] = link.exec(mail.headers['list-unsubscribe'] ?? '') ?? []
    const { listId, contactId, campaignId } = mail
    expect(openUnsubscribe(ctx, token)).toMatchObject({ workspaceId: ctx.workspaceId, listId, contactId, campaignId })
    expect(mail.html).toContain(`<a href="${url}"`)
    expect(mail.text).toContain(url)
  })

  test('has the same Message-ID when it is rendered again', async () => {
    const { id } = await createTestCampaign(ctx)
    const messageIdTo = async (contact: Pick<Recipient, 'id'>) =>
      (await renderFor(ctx, id, { ...ada, id: contact.id })).messageId
    const [one, other] = [await createTestContact(ctx), await createTestContact(ctx)]
    expect(await messageIdTo(one)).toBe(await messageIdTo(one))
    expect(await messageIdTo(one)).not.toBe(await messageIdTo(other))
  })

  test('takes the sender from the campaign, then the workspace, then the installation', async () => {
    const own = await sendAndReceive({ fromName: 'Charles', fromEmail: 'charles@example.org' })
    expect([own.headers['from'], own.from]).toEqual(['Charles <charles@example.org>', 'charles@example.org'])
    await database.pool.query(
      "update workspaces set from_name = 'Engines', from_email = 'us@engines.example' where id = $1",
      [uuidOf(ctx.workspaceId)],
    )
    const ofWorkspace = await sendAndReceive({})
    expect(ofWorkspace.headers['from']).toBe('Engines <us@engines.example>')
  })

  test('keeps long lines and any script intact in both parts', async () => {
    const text =
      'Grüße aus München, Привет, こんにちは, 🦉, and a line that is longer than the 998 bytes a line may have: '
    const long = text + 'wörd '.repeat(400)
    const mail = await sendAndReceive(
      { subject: text.slice(0, 60), html: `<p>${long}</p>`, text: long },
      { firstName: 'Zoë' },
    )
    expect(mail.subject).toBe(text.slice(0, 60).trim())
    expect(mail.html).toContain(long.trim())
    expect(mail.text).toContain(long.trim())
    expect(
      mail.raw
        .toString('latin1')
        .split('\r\n')
        .every((line) => line.length <= 998),
    ).toBe(true)
  })
})

describe('header injection is not possible', () => {
  const attacks = [
    'Ada\r\nBcc: eve@example.com',
    'Ada\nBcc: eve@example.com\n\nbody',
    'Ada\rBcc: eve@example.com',
    'Ada\r\n\r\n<script>',
    'Ada\u2028Bcc: eve@example.com',
    'Ada\u0000Bcc: eve@example.com',
    'Ada\u0085Bcc: eve@example.com',
    '" <eve@example.com>, "',
    'eve@example.com, Ada <eve@example.com>',
    '=?utf-8?Q?=0D=0ABcc:_eve@example.com?=',
    `Ada ${'x'.repeat(150)}\r\n Bcc: eve@example.com`,
  ]

  test.each(attacks)('with the contact name %j in To and Subject', async (name) => {
    const mail = await sendAndReceive(
      { subject: 'For {{ contact.firstName }}', text: 'Hi' },
      { firstName: name, lastName: name },
    )
    expect(mail.head.names).toEqual(expectedPlainTextNames.toSorted())
    expect(mail.to).toEqual(['ada@example.com'])
    expect(mail.head.text).not.toMatch(/^bcc/im)
    // The To header contains one address.
    expect(mail.headers['to']).toMatch(/<ada@example\.com>$/)
    expect(mail.subject).toMatch(/^For /)
  })

  test.each(attacks)('with the sender name %j', async (name) => {
    await database.pool.query('update workspaces set from_name = $1 where id = $2', [
      name.replace('\u0000', ''),
      uuidOf(ctx.workspaceId),
    ])
    const mail = await sendAndReceive({ text: 'Hi' })
    expect(mail.head.names).toEqual(expectedPlainTextNames.toSorted())
    expect(mail.from).toBe('newsletter@example.com')
    expect(mail.headers['from']).toMatch(/<newsletter@example\.com>$/)
  })
})

test('contact names are escaped in the HTML of a mail', async () => {
  const html = '<p>Hi {{ contact.firstName }}</p>'
  const mail = await sendAndReceive({ html }, { firstName: '<img src=x onerror=alert(1)>' })
  expect(mail.html).toContain('<p>Hi &lt;img src=x onerror=alert(1)&gt;</p>')
})

describe('the transport', () => {
  const mail = {
    from: { name: '', address: 'a@example.com' },
    to: { name: '', address: 'b@example.com' },
    subject: 'S',
    text: 'T',
    messageId: '<1@example.com>',
  }

  test.each([
    ['sends a mail whose first answer came late', 1, { outcome: { kind: 'sent' }, questions: 2 }],
    ['gives up a mail whose answers all come late', 9, { outcome: { kind: 'refused', temporary: true }, questions: 3 }],
  ])('%s', async (_name, lateAnswers, { outcome, questions }) => {
    const now = vi.spyOn(Date, 'now')
    const start = Date.now()
    let asked = 0
    const ask = async () => {
      asked += 1
      if (asked <= lateAnswers) now.mockReturnValue(start + asked * 2_000)
      return undefined
    }
    expect(await transport.send(mail, { askedAt: start - 2_000, ask })).toMatchObject(outcome)
    now.mockRestore()
    expect(asked).toBe(questions)
  })

  test('does not retry a mail when the connection is lost after the data', async () => {
    const before = smtp.mails.length
    smtp.decide(() => 'disconnect after data')
    expect(await transport.send(mail)).toMatchObject({ kind: 'ambiguous' })
    expect(smtp.mails).toHaveLength(before + 1)
  })

  test.each(['connect', 'greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'second MAIL'])(
    'reports a temporary error when the connection is lost at %s',
    async (stage) => {
      const server = await startFailingSmtp(stage)
      const own = openMailTransport(server.url)
      if (stage === 'second MAIL') await own.send(mail)
      expect(await own.send(mail)).toMatchObject({ kind: 'refused', temporary: true })
      expect(server.mailCount()).toBe(stage === 'second MAIL' ? 1 : 0)
      own.close()
      await server.close()
    },
  )

  test.each(['body', 'dot'])('reports an ambiguous outcome when the connection is lost at the %s', async (stage) => {
    const server = await startFailingSmtp(stage)
    const own = openMailTransport(server.url)
    expect(await own.send(mail)).toMatchObject({ kind: 'ambiguous' })
    own.close()
    await server.close()
  })

  test('reuses its connections, and a refused mail does not affect other mails', async () => {
    smtp.decide((to) => (to.startsWith('7@') ? 550 : 'accept'))
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, (_, n) => transport.send({ ...mail, to: { name: '', address: `${n}@example.com` } })),
    )
    expect(outcomes.filter(({ kind }) => kind === 'sent')).toHaveLength(59)
    expect(outcomes[7]).toMatchObject({ kind: 'refused', temporary: false, error: '550 recipient is refused' })
  })

  test('ignores parameters of SMTP_URL that would change its limits', async () => {
    const own = openMailTransport(`${smtp.url}?socketTimeout=1&maxRequeues=-1&pool=false`)
    expect(await own.send(mail)).toMatchObject({ kind: 'sent' })
    own.close()
  })

  test('does not read files or fetch URLs that a mail names', async () => {
    const before = smtp.mails.length
    for (const path of ['/etc/passwd', smtp.url.replace('smtp', 'http')]) {
      const malicious = { ...mail, attachments: [{ path }], html: { path } as never }
      await transport.send({ ...malicious, text: `see ${path}` }).catch(() => {})
      await transport.send({ ...mail, attachments: [{ path }], raw: { path } } as never)
    }
    for (const { raw } of smtp.mails.slice(before)) expect(raw.toString()).not.toMatch(/root:|220 /)
  })

  test('sends again after the server was unavailable', async () => {
    const first = await startSmtpReceiver()
    const own = openMailTransport(first.url)
    expect(await own.send(mail)).toMatchObject({ kind: 'sent' })
    await first.close()
    expect((await own.send(mail)).kind).not.toBe('sent')
    const second = await startSmtpReceiver({ port: first.port })
    expect(await own.send(mail)).toMatchObject({ kind: 'sent' })
    own.close()
    await second.close()
  })
})

/** Starts an SMTP server that closes the connection when a session reaches `stage`. */
async function startFailingSmtp(stage: string) {
  let mails = 0
  const server = createServer((socket) => {
    let isData = false
    let body = ''
    const closeAt = (current: string) => {
      const isReached = stage === current || (stage === 'second MAIL' && current === 'MAIL' && mails === 1)
      if (isReached) socket.destroy()
      return isReached
    }
    const handleLine = (line: string) => {
      const command = line.slice(0, 4).toUpperCase()
      if (isData ? closeAt('body') : closeAt(command)) return
      if (isData) {
        body += line
        if (!body.endsWith('\r\n.\r\n') || closeAt('dot')) return
        mails += 1
      }
      isData = !isData && command === 'DATA'
      socket.write(isData ? '354 continue\r\n' : '250 ok\r\n')
    }
    socket.on('error', () => {}).on('data', (chunk) => handleLine(chunk.toString()))
    if (closeAt('connect')) return
    socket.write('220 hello\r\n')
    closeAt('greeting')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mailCount: () => mails,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
