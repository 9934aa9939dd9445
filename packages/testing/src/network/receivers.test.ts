import { connect } from 'node:net'
import { createTransport } from 'nodemailer'
import { afterEach, describe, expect, test } from 'vitest'
import { startHttpReceiver, startSmtpReceiver, type HttpReceiver, type SmtpReceiver } from './receivers.ts'

describe('the HTTP receiver', () => {
  let receiver: HttpReceiver
  afterEach(() => receiver.close())

  test('records the request and sends the configured response', async () => {
    receiver = await startHttpReceiver(() => ({ status: 503, headers: { 'retry-after': '9' }, body: 'later' }))
    const response = await fetch(`${receiver.url}/hook?a=1`, { method: 'POST', body: 'é', headers: { 'x-a': 'b' } })
    expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual([503, '9', 'later'])
    const request = await receiver.waitFor(({ url }) => url.startsWith('/hook'))
    expect(request).toMatchObject({ method: 'POST', url: '/hook?a=1', headers: { 'x-a': 'b' }, body: Buffer.from('é') })
  })

  test('closes while a client waits for a response that never comes', async () => {
    receiver = await startHttpReceiver(() => ({ fault: 'hang' }))
    const outcome = fetch(receiver.url).catch(() => 'cut off')
    await receiver.waitFor(1)
    await receiver.close()
    expect(await outcome).toBe('cut off')
  })

  test('lists the received requests when a wait times out', async () => {
    receiver = await startHttpReceiver()
    await (await fetch(`${receiver.url}/only`)).text()
    await expect(receiver.waitFor(2, 50)).rejects.toThrow('until 2 requests have arrived (1 arrived: GET /only)')
  })
})

describe('the SMTP receiver', () => {
  let receiver: SmtpReceiver
  afterEach(() => receiver.close())

  async function send(to: string | string[]) {
    const transport = createTransport({ url: receiver.url, socketTimeout: 1_000 } as { url: string })
    const headers = { 'List-Unsubscribe': '<https://example.org/u>' }
    const mail = { from: 'a@example.org', to, subject: 'Grüße', text: 'Hallo', html: '<p>Hallo</p>', headers }
    return transport.sendMail(mail).finally(() => transport.close())
  }

  test('records envelope, headers and both bodies', async () => {
    receiver = await startSmtpReceiver()
    await send(['b@example.org', 'c@example.org'])
    const mail = await receiver.waitFor(({ to }) => to.includes('c@example.org'))
    expect(mail).toMatchObject({
      from: 'a@example.org',
      to: ['b@example.org', 'c@example.org'],
      headers: { 'list-unsubscribe': '<https://example.org/u>' },
      subject: 'Grüße',
      text: expect.stringContaining('Hallo'),
      html: expect.stringContaining('<p>Hallo</p>'),
    })
  })

  test('rejects, hangs or disconnects depending on the recipient', async () => {
    receiver = await startSmtpReceiver({
      decide: (recipient) => {
        if (recipient.startsWith('full')) return 450
        if (recipient.startsWith('gone')) return 550
        if (recipient.startsWith('slow')) return 'hang after data'
        if (recipient.startsWith('cut')) return 'disconnect after data'
        return 'accept'
      },
    })
    await expect(send('full@example.org')).rejects.toMatchObject({ responseCode: 450 })
    await expect(send('gone@example.org')).rejects.toMatchObject({ responseCode: 550 })
    expect(receiver.mails).toHaveLength(0)
    await expect(send('slow@example.org')).rejects.toMatchObject({ code: 'ETIMEDOUT' })
    await expect(send('cut@example.org')).rejects.toThrow()
    expect(receiver.mails.map(({ to }) => to[0])).toEqual(['slow@example.org', 'cut@example.org'])
    await send('well@example.org')
    expect(receiver.mails).toHaveLength(3)
  })

  test('closes while a client stays connected', async () => {
    receiver = await startSmtpReceiver()
    const socket = connect(receiver.port, '127.0.0.1')
    const ended = new Promise<boolean>((resolve) => socket.once('close', resolve))
    await new Promise((resolve) => socket.once('data', resolve))
    await receiver.close()
    expect(await ended).toBe(false)
  })
})
