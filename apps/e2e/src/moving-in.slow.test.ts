/** `rapport import --from` with a complete installation. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { runProcess, startProcess } from '@rapport/testing/processes/processes.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type Stack } from './stack.ts'

let stack: Stack
let key: string
let list: string
const directory = mkdtempSync(join(tmpdir(), 'rapport-moving-'))
beforeAll(async () => {
  stack = await startStack('redis')
})
beforeEach(async () => {
  ;({ key } = await stack.api.createWorkspace())
  list = (await stack.api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'News' } })).body.id
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await stack.close()
})

const script = 'apps/cli/src/main.ts'
const env = () => ({ DATA_DIR: directory, RAPPORT_API_URL: stack.api.url, RAPPORT_API_KEY: key })
const run = (...parameters: string[]) => runProcess({ script, parameters: ['import', ...parameters], env: env() })
const importsOf = async () => (await stack.api.call<{ data: { id: string }[] }>('GET', '/imports', { key })).body.data

/** Writes a folder with these files. */
function writeExport(files: Record<string, string[]>): string {
  const path = mkdtempSync(join(directory, 'export-'))
  for (const [name, lines] of Object.entries(files)) writeFileSync(join(path, name), `${lines.join('\n')}\n`)
  return path
}

const mailchimp = () =>
  writeExport({
    'subscribed_email_audience_export_1a.csv': [
      '"Email Address","First Name","Last Name",MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LAST_CHANGED,LEID,EUID,NOTES,TAGS',
      'ada@example.com,Ada,Lovelace,2,"2016-04-18 13:51:14",,"2016-04-18 14:00:32",203.0.113.7,,1,2,,"""vip"""',
      'zoe@example.com,Zoë,,2,,,,,,3,4,,',
      'ida@example.com,Ida,,2,,,,,,6,7,,',
    ],
    'unsubscribed_email_audience_export_1a.csv': [
      '"Email Address","First Name",UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER,LEID',
      'zoe@example.com,Zoë,"2020-01-02 03:04:05",May,17,NO_SIGNUP,,3',
    ],
    'cleaned_email_audience_export_1a.csv': [
      '"Email Address",CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID,LEID',
      'kay@example.com,"2020-01-02 03:04:05",May,17,5',
    ],
    'nonsubscribed_email_audience_export_1a.csv': ['"Email Address","First Name"', 'eve@example.com,Eve'],
  })

async function statuses() {
  const { body } = await stack.api.call<{ data: Contact[] }>('GET', '/contacts?sort=email', { key })
  return Object.fromEntries(body.data.map(({ email, emailSubscribedStatus }) => [email, emailSubscribedStatus]))
}

test('a folder of Mailchimp is imported once and verified; opt-outs here stay', async () => {
  const body = { email: 'ida@example.com', reason: 'OPTED_OUT' }
  await stack.api.call('POST', '/suppressions', { key, body })
  const folder = mailchimp()
  const first = await run('--from', 'mailchimp', '--list', list, '--verify', folder)
  expect(first.stdout).toBe(
    '5 addresses compared\nwidened (not mailable there, but here): 0\nlost (mailable there, but not here): 1\n' +
      '  ida@example.com  refused here\n' +
      'On the list: 0 PENDING, 1 CONFIRMED, 1 UNSUBSCRIBED, 0 BOUNCED, 0 COMPLAINED\n',
  )
  expect(first.code).toBe(0)
  const expected = {
    'ada@example.com': 'SUBSCRIBED',
    'eve@example.com': 'NONE',
    'ida@example.com': 'UNSUBSCRIBED',
    'kay@example.com': 'BOUNCED',
    'zoe@example.com': 'UNSUBSCRIBED',
  }
  expect(await statuses()).toEqual(expected)
  const imports = await importsOf()
  expect(imports).toHaveLength(4)

  const second = await run('--from', 'mailchimp', '--list', list, '--verify', '--json', folder)
  expect(second.code).toBe(0)
  const { imports: known, verification } = JSON.parse(second.stdout) as {
    imports: { id: string }[]
    verification: object
  }
  expect(known.map(({ id }) => id).toSorted()).toEqual(imports.map(({ id }) => id).toSorted())
  expect(verification).toMatchObject({ addresses: 5, widened: { count: 0 }, lost: { count: 1 } })
  expect(await importsOf()).toHaveLength(4)
})

test('a file of opt-outs remains one with --status CONFIRMED', async () => {
  const folder = writeExport({
    'contacts.csv': ['EMAIL,FIRSTNAME', 'ada@example.com,Ada'],
    'unsubscribed.csv': ['EMAIL,FIRSTNAME', 'zoe@example.com,Zoë'],
  })
  const { code, stdout } = await run('--from', 'brevo', '--list', list, '--status', 'CONFIRMED', '--verify', folder)
  expect(stdout).toContain('On the list: 0 PENDING, 1 CONFIRMED, 1 UNSUBSCRIBED, 0 BOUNCED, 0 COMPLAINED\n')
  expect(await statuses()).toEqual({ 'ada@example.com': 'SUBSCRIBED', 'zoe@example.com': 'UNSUBSCRIBED' })
  expect(code).toBe(0)
})

test('a command that was killed continues with the same import', async () => {
  const rows = Array.from({ length: 300 }, (_, n) => `person${n}@example.com,Person ${n},enabled`)
  const folder = writeExport({ 'subscribers.csv': ['email,name,status', ...rows] })
  const parameters = ['import', '--from', 'listmonk', '--list', list, folder]
  const killed = await startProcess({
    script,
    parameters,
    env: env(),
    readyPattern: /(imp_\w+) is queued/,
    timeoutMs: 30_000,
  })
  killed.kill('SIGKILL')
  await killed.exited
  const again = await run('--from', 'listmonk', '--list', list, '--verify', folder)
  expect(again.stderr).toContain(`${killed.ready?.[1]} was uploaded before.`)
  expect(again.stdout).toContain('300 addresses compared\nwidened (not mailable there, but here): 0\n')
  expect(again.code).toBe(0)
  expect(await importsOf()).toHaveLength(1)
})

test('a canceled import is not continued', async () => {
  const worker = stack.workers.at(-1)
  worker?.kill()
  await worker?.exited
  const folder = writeExport({ 'contacts.csv': ['id,email,unsubscribed', '1,ada@example.com,false'] })
  const parameters = ['import', '--from', 'resend', folder]
  const stopped = await startProcess({
    script,
    parameters,
    env: env(),
    readyPattern: /(imp_\w+) is queued/,
    timeoutMs: 30_000,
  })
  stopped.kill('SIGINT')
  expect(await stopped.exited).toMatchObject({ code: 130 })
  await stack.api.call('DELETE', `/imports/${stopped.ready?.[1]}`, { key })
  await stack.startWorker()
  const again = await run('--from', 'resend', folder)
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('1 processed, 1 created') })
  expect(await importsOf()).toHaveLength(2)
})
