/** The restore drill: runs the commands of docs/backup.md as printed, while work is pending. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import {
  type BackupServer,
  type BackupServerPrograms,
  findBackupServers,
  startBackupServer,
} from '@rapport/testing/postgres/backup-server.ts'
import { withAdminClient } from '@rapport/testing/postgres/database.ts'
import { startCommand } from '@rapport/testing/processes/processes.ts'
import { getRedisBinary } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { addConfirmedSubscribers } from './campaign-recipients.ts'
import { readExamples } from './printed-examples.ts'
import { countOpenWork, type Stack, startStack } from './stack.ts'

const root = resolve(import.meta.dirname, '../../..')
/** Sending takes longer than the backup needs to start. */
const [contacts, recipients, mailsPerSecond] = [40, 150, 15]
const timeoutMs = 120_000

for (const programs of await findBackupServers()) {
  describe.skipIf(programs.folder === undefined)(`with PostgreSQL ${programs.majorVersion} (needs its pg_dump)`, () => {
    test('after a restore nothing is sent twice, and later opt-outs hold', { timeout: 400_000 }, () =>
      expectNothingIsRepeated(programs),
    )
  })
}

async function expectNothingIsRepeated(programs: BackupServerPrograms) {
  const server = await startBackupServer(programs)
  onTestFinished(() => server.close())
  const stack = await startStack(
    'redis',
    { MAIL_RATE: String(mailsPerSecond) },
    {
      database: await server.createDatabase('rapport'),
    },
  )
  onTestFinished(() => stack.close())
  const receiver = await startHttpReceiver(() => ({ delayMs: 2_000 }))
  onTestFinished(() => receiver.close())
  const shell = openShell(stack, server)
  const { api } = stack
  const newsletters = () => stack.inbox.mails.filter(({ subject }) => subject === 'News')

  const { key, listId, campaignId } = await startWork(stack, receiver)
  await shell.run(readCommands('## Backup', '### Every night'))
  const [, backupTime = ''] = /^rapport-(\w+)\.dump\.age$/.exec(readdirSync(shell.backups).join(' ')) ?? []
  expect(backupTime).toMatch(/^\d{8}T\d{6}Z$/)

  // After the backup, the pending work is done, and a subscriber opts out.
  await waitUntil(async () => (await countOpenWork(stack)) === 0, { describe: 'all work is done', timeoutMs })
  expect([newsletters().length, receiver.requests.length]).toEqual([recipients, contacts])
  const left = await unsubscribe(stack, { folder: shell.folder, backupTime })

  await destroy(stack, server)
  const [restoring = '', repeating = ''] = readCommands('## Restore', '| Error of').split(/(?=^since=)/m)
  // Without an API and a worker, some checks of `doctor` fail.
  const printed = await shell.run(restoring.replace('rapport doctor', 'rapport doctor || true'))
  expect(printed).toMatch(/^INTERRUPTED: [1-9]\d* deliveries, 0 emails, [1-9]\d* recipients; PAUSED: 1 campaign$/m)
  expect(printed).toMatch(/^ok +PostgreSQL +the database is up to date$/m)
  await stack.startApi()
  expect(await shell.run(repeating.replace('since=20270131T030000Z', `since=${backupTime}`))).toBe('200\n')
  Object.assign(stack.env, { MAIL_RATE: '1000' })
  await stack.startWorker()

  // A webhook sends its deliveries in order, and a campaign ends after its recipients.
  await api.call('POST', '/contacts', { key, body: { email: 'new@example.com' } })
  await receiver.waitFor((request) => request.body.includes('new@example.com'), timeoutMs)
  expect(receiver.requests.length).toBe(contacts + 1)
  expect((await api.call('POST', `/campaigns/${campaignId}/resume`, { key })).status).toBe(200)
  await waitForStatus(stack, { key, campaignId }, 'SENT')
  expect(newsletters().length).toBe(recipients)

  const second = await sendCampaign(stack, { key, listId })
  await waitForStatus(stack, { key, campaignId: second }, 'SENT')
  expect(newsletters().length).toBe(recipients + recipients - 1)
  expect(newsletters().filter(({ to }) => to.includes(left)).length).toBe(1)
}

/** Starts a campaign and deliveries that are slow enough to be pending during the backup. */
async function startWork(stack: Stack, receiver: HttpReceiver) {
  const { key, workspaceId } = await stack.api.createWorkspace()
  const list = await stack.api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Everyone' } })
  await addConfirmedSubscribers(stack.database, { workspaceId, listId: list.body.id }, recipients)
  const webhook = { url: receiver.url, eventTypes: ['contact.created'] }
  await stack.api.call('POST', '/webhooks', { key, body: webhook })
  const campaignId = await sendCampaign(stack, { key, listId: list.body.id })
  for (let n = 0; n < contacts; n++) {
    await stack.api.call('POST', '/contacts', { key, body: { email: `contact${n}@example.com` } })
  }
  await stack.inbox.waitFor(({ subject }) => subject === 'News', timeoutMs)
  await receiver.waitFor(1, timeoutMs)
  return { key, listId: list.body.id, campaignId }
}

async function sendCampaign({ api }: Stack, { key, listId }: { key: string; listId: string }): Promise<string> {
  const body = { name: 'News', subject: 'News', html: '<p>News</p>', listId }
  const campaign = await api.call<{ id: string }>('POST', '/campaigns', { key, body })
  expect((await api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })).status).toBe(202)
  return campaign.body.id
}

function waitForStatus({ api }: Stack, { key, campaignId }: { key: string; campaignId: string }, status: string) {
  const read = () => api.call<{ status: string }>('GET', `/campaigns/${campaignId}`, { key })
  return waitUntil(async () => (await read()).body.status === status, {
    describe: `the campaign is ${status}`,
    timeoutMs,
  })
}

/**
 * Follows the link of a mail, which the log of a proxy records. Returns the address. In the log, the link of another mail
 * was used a second before the backup.
 */
async function unsubscribe(
  { api, inbox }: Stack,
  { folder, backupTime }: { folder: string; backupTime: string },
): Promise<string> {
  const [mail, earlier] = inbox.mails.filter(({ subject }) => subject === 'News')
  const link = /<https?:\/\/[^/>]+(\/public\/unsubscribe\?token=[^>]+)>/
  const [path = '', earlierPath = ''] = [mail, earlier].map(
    (one) => link.exec(one?.headers['list-unsubscribe'] ?? '')?.[1],
  )
  expect((await api.call('POST', path)).status).toBe(200)
  const iso = backupTime.replace(/^(....)(..)(..T..)(..)/, '$1-$2-$3:$4:')
  const lines = [toLogLine(Date.parse(iso) - 1_000, earlierPath), toLogLine(Date.now(), path)]
  writeFileSync(join(folder, 'access.log'), lines.join(''))
  return mail?.to[0] ?? ''
}

/** A line of the log of nginx in UTC: the time is "31/Jan/2027:03:00:00 +0000". */
function toLogLine(time: number, path: string): string {
  const logged = new Date(time).toUTCString().replace(/^\w+, (\d+) (\w+) (\d+) (\S+) GMT$/, '$1/$2/$3:$4 +0000')
  return `127.0.0.1 - - [${logged}] "POST ${path} HTTP/1.1" 200\n`
}

/** Kills all processes and drops the database. Redis keeps the jobs. */
async function destroy({ apis, workers }: Stack, server: BackupServer) {
  for (const program of [...apis, ...workers]) {
    program.kill('SIGKILL')
    await program.exited
  }
  await withAdminClient(server.adminUrl, (client) => client.query('drop database rapport with (force)'))
}

/** The directory of Rapport on a server: with `rapport` and `redis-cli` on the PATH, and with an .env file. */
function openShell(stack: Stack, server: BackupServer) {
  const folder = mkdtempSync(join(tmpdir(), 'rapport-drill-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [programs, backups] = [join(folder, 'bin'), join(folder, 'backups')]
  mkdirSync(programs)
  symlinkSync(join(root, 'bin/rapport'), join(programs, 'rapport'))
  const env = { ...stack.env, BACKUP_KEY: Buffer.alloc(32, 9).toString('base64') }
  const lines = Object.entries(env).map(([name, value]) => `${name}='${value}'\n`)
  writeFileSync(join(folder, '.env'), lines.join(''))
  const path = `${programs}:${server.path}:${dirname(getRedisBinary())}`

  /** Runs the commands in a new terminal. Returns what they print, and throws if one fails. */
  async function run(commands: string): Promise<string> {
    const script = `cd '${folder}'\n${readCommands('## Requirements', '## Backup')}\n${commands}`
    const terminal = await startCommand({
      command: 'bash',
      parameters: ['-e', '-o', 'pipefail', '-c', script.replaceAll('/var/backups/rapport', backups)],
      env: { PATH: path, HOME: folder },
    })
    const { code } = await terminal.exited
    if (code !== 0) throw new Error(`The commands failed:\n${terminal.stdout()}${terminal.stderr()}`)
    return terminal.stdout()
  }
  return { folder, backups, run }
}

/** The commands between two headings of docs/backup.md. */
function readCommands(from: string, until: string): string {
  const text = readFileSync(join(root, 'docs/backup.md'), 'utf8')
  const [start, end] = [text.indexOf(`\n${from}\n`), text.indexOf(`\n${until}`)]
  if (start < 0 || end < start) throw new Error(`docs/backup.md has no section from "${from}" to "${until}"`)
  return readExamples(text.slice(start, end))
}
