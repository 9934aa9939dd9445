/** Emails to one person in real processes: whom they reach, and where the value of a secret is until and after their end. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { databaseUrl, withAdminClient } from '@rapport/testing/postgres/database.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { openSmtpConversation } from '@rapport/testing/network/smtp-conversation.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { chooseBackends, type Stack, startStack } from './stack.ts'

/** Looks like an address, so that "rapport erasure verify" searches for all of its spellings. */
const secret = `planted-reset-${Date.now()}@links.example`
const resetUrl = `https://shop.example/reset/${secret}`

interface Email {
  id: string
  contactId: string
  status: string
  reason: string | null
  code?: string
}

describe.each(chooseBackends({ gate: 'postgres' }))('with the queues in %s', (backend) => {
  let stack: Stack
  let key: string
  let templateId: string
  let bouncePort: number
  const call = <Body>(method: string, path: string, body?: object) => stack.api.call<Body>(method, path, { key, body })
  const send = (email: string) => call<Email>('POST', '/emails', { templateId, to: { email }, data: { resetUrl } })
  const readEmail = async ({ id }: Email) => (await call<Email>('GET', `/emails/${id}`)).body
  const accept = async (email: string) => {
    const { status, body } = await send(email)
    expect(status).toBe(202)
    return body
  }
  /** Searches the database and Redis, including each column of each table of the queues. */
  const findSecret = async () => {
    const parameters = ['erasure', 'verify', secret, '--json']
    const { stdout } = await runProcess({ script: 'apps/cli/src/main.ts', parameters, env: stack.env })
    return (JSON.parse(stdout) as { searchedTables: number; found: object[] }).found
  }

  beforeAll(async () => {
    bouncePort = await findFreePort()
    const bounces = { BOUNCE_HOST: '127.0.0.1', BOUNCE_PORT: String(bouncePort), RETURN_PATH_DOMAIN: 'bounces.example' }
    stack = await startStack(backend, { LOG_LEVEL: 'debug', ...bounces }, { worker: 'none' })
    key = (await stack.api.createWorkspace()).key
    const variables = [{ name: 'resetUrl', type: 'URL', required: true, example: 'https://shop.example/reset/x' }]
    const html = '<p><a href="{{ data.resetUrl }}">Reset</a></p>'
    const template = { name: 'Reset', subject: 'Reset your password', html, variables, ground: 'SECURITY' }
    templateId = (await call<{ id: string }>('POST', '/templates', template)).body.id
  })
  afterAll(() => stack.close())

  test('a planted link is only sealed while it waits, and nowhere after the end', { timeout: 180_000 }, async () => {
    const codes: Record<string, string> = { 'refused@example.com': '554 5.7.1', 'delayed@example.com': '450 4.7.1' }
    // As content filters do.
    stack.inbox.decide((to) => (codes[to] ? { refusal: `${codes[to]} blocked URL ${resetUrl}` } : 'accept'))
    const sent = await accept('ada@bücher.example')
    const refused = await accept('refused@example.com')
    const delayed = await accept('delayed@example.com')
    const erased = await accept('erased@example.com')
    const blocked = await accept('blocked@example.com')
    const countSealed = async () =>
      (await stack.database.pool.query('select from emails where sealed_data is not null')).rowCount
    expect(await countSealed()).toBe(5)
    expect(await findSecret()).toEqual([])
    expect(await listFilesWith(stack, secret)).toEqual([])
    expect(await listFilesWith(stack, 'Reset your password')).not.toEqual([])

    // Between the call and the claim.
    expect((await call('DELETE', `/contacts/${erased.contactId}`)).status).toBe(204)
    expect((await call('POST', '/suppressions', { email: 'blocked@example.com', reason: 'MANUAL' })).status).toBe(201)
    await stack.startWorker()
    await waitUntil(async () => (await countSealed()) === 1, { describe: 'all emails but one have ended' })
    await waitUntil(async () => (await readEmail(delayed)).reason !== null, { describe: 'it is delayed' })

    expect(await readEmail(sent)).toMatchObject({ status: 'SENT', reason: null })
    expect(await readEmail(refused)).toMatchObject({ status: 'FAILED', reason: expect.stringContaining('blocked') })
    expect(await readEmail(delayed)).toMatchObject({ status: 'PENDING', reason: expect.stringContaining('blocked') })
    expect(await readEmail(blocked)).toMatchObject({ status: 'SKIPPED', reason: expect.stringContaining('MANUAL') })
    expect((await call('GET', `/emails/${erased.id}`)).status).toBe(404)
    const mails = stack.inbox.mails.filter(({ subject }) => subject === 'Reset your password')
    expect(mails.map(({ headers }) => headers['to'])).toEqual(['ada@xn--bcher-kva.example'])
    expect(mails[0]?.html).toContain(resetUrl)
    // The server that accepted it relays it to another one.
    await deliverBounce(bouncePort, mails[0]?.from ?? '', `554 5.7.1 blocked URL ${resetUrl}`)
    expect(await readEmail(sent)).toMatchObject({ status: 'SENT', bounceClass: 'POLICY', bounceCode: '5.7.1' })
    const { body } = await call<{ data: { data: { emailId: string; detail: string } }[] }>(
      'GET',
      '/events?type=mail.bounced',
    )
    const bounce = body.data.find(({ data }) => data.emailId === sent.id)
    expect(bounce?.data.detail).toBe('554 5.7.1 blocked URL [value]')

    expect(await findSecret()).toEqual([])
    expect(await listFilesWith(stack, secret)).toEqual([])
    for (const program of [...stack.apis, ...stack.workers])
      expect(program.stdout() + program.stderr()).not.toContain(secret)
  })

  test('who complained gets no more emails, also not from another template', async () => {
    const email = await accept('grace@example.com')
    await waitUntil(async () => (await readEmail(email)).status === 'SENT', { describe: 'the email is sent' })
    const report = { email: 'grace@example.com', type: 'COMPLAINT' }
    expect((await call('POST', '/mail-events', report)).status).toBe(202)
    const { status, body } = await send('Grace@EXAMPLE.com')
    expect([status, body.code]).toEqual([409, 'opted_out'])
    expect(body.reason).toBe('COMPLAINED')
  })
})

/** Delivers a report (RFC 3464) to the return path of an email. */
async function deliverBounce(port: number, returnPath: string, response: string): Promise<void> {
  const smtp = await openSmtpConversation(port)
  for (const command of ['EHLO mx.example', 'MAIL FROM:<>', `RCPT TO:<${returnPath}>`, 'DATA']) await smtp.send(command)
  const report = [
    'From: MAILER-DAEMON@mx.example',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=report',
    '',
    '--report',
    '',
    `The response of the other server was: ${response}`,
    '--report',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example',
    '',
    `Action: failed\r\nStatus: 5.7.1\r\nDiagnostic-Code: smtp; ${response}`,
    '',
    '--report--',
  ]
  expect(await smtp.send(`${report.join('\r\n')}\r\n.`)).toMatch(/^250/)
  smtp.close()
}

/**
 * The files of the database and of the write-ahead log that contain the text: also what was deleted, and what is in an
 * index. They are those of the servers of the tests, on this machine.
 */
async function listFilesWith({ database }: Stack, text: string): Promise<string[]> {
  const name = new URL(database.url).pathname.slice(1)
  const { nodeUrls } = inject('testServices')
  const found = await Promise.all(nodeUrls.map((url) => listServerFilesWith(databaseUrl(url, name), text)))
  return found.flat()
}

async function listServerFilesWith(url: string, text: string): Promise<string[]> {
  const { rows } = await withAdminClient(url, async (client) => {
    await client.query('checkpoint')
    return client.query<{ directory: string; oid: number }>(
      `select setting as directory, oid from pg_settings, pg_database where name = 'data_directory' and datname = current_database()`,
    )
  })
  const { directory = '', oid = 0 } = rows[0] ?? {}
  const folders = [join(directory, 'base', String(oid)), join(directory, 'pg_wal')]
  const entries = await Promise.all(folders.map((folder) => readdir(folder, { withFileTypes: true })))
  const files = entries.flat().filter((entry) => entry.isFile())
  expect(files.length).toBeGreaterThan(100)
  const found: string[] = []
  for (const { parentPath, name } of files) {
    // The server removes files meanwhile.
    const content = await readFile(join(parentPath, name)).catch(() => undefined)
    if (content?.includes(text)) found.push(name)
  }
  return found
}
