/** Every command prints one JSON document with `--json`, and nothing else on standard output. */
import { createApiKey } from '@rapport/core/auth/api-keys.ts'
import { signUp } from '@rapport/core/auth/login.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { providerSecrets } from '@rapport/testing/mail-providers/provider-messages.ts'
import { createInstallationHook } from '@rapport/core/mail-hooks/mail-hooks.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { beforeAll, expect, test } from 'vitest'
import { commands } from './commands.ts'
import { runForJson } from './testing.ts'

const database = useTestDatabase()
const api = useForFile(startHttpReceiver)

const importRecord = {
  id: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b',
  status: 'COMPLETED',
  dryRun: false,
  processed: 0,
  created: 0,
  updated: 0,
  skipped: 0,
  failed: 0,
  errors: [],
}
const contact = {
  id: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
  email: 'ada@example.com',
  emailSubscribedStatus: 'UNSUBSCRIBED',
}
const suppression = { id: 'sup_01kag7m3v9e8fs2t4w6x8y0z1b', reason: 'MANUAL', listId: null }
const email = { id: 'mai_01kag7m3v9e8fs2t4w6x8y0z1b', status: 'PENDING' }
const access = ['--api', 'API', '--key', 'rpk_test']

/** The arguments and the fields of each command, and the record that the API returns. The fields are documented in docs/command-line.md. */
const outputs: Record<string, { words?: string[]; fields: string[]; record?: object }> = {
  queue: { fields: ['queues', 'workLagSeconds', 'workers', 'deliveries', 'campaigns', 'campaignsUnderWay'] },
  'campaign status': { fields: ['data'] },
  'webhook failing': { fields: ['data'] },
  'mail-hook create': {
    words: ['ses', '--secret', 'arn:aws:sns:eu-central-1:123456789012:mail'],
    fields: ['id', 'provider', 'url', 'lastMessageAt', 'createdAt'],
  },
  'mail-hook list': { fields: ['data'] },
  'mail-hook delete': { words: ['HOOK'], fields: ['id'] },
  restored: { fields: ['deliveries', 'mails', 'campaigns', 'recipients'] },
  'rotate-key': { fields: ['resealed', 'lost'] },
  'workspace list': { fields: ['data'] },
  'workspace show': {
    words: ['WORKSPACE'],
    fields: ['workspace', 'members', 'invites', 'senderDomains', 'domains', 'usage', 'counts', 'failingWebhooks'],
  },
  'workspace create': { words: ['--name', 'X', '--owner-email', 'x@example.com'], fields: ['workspace', 'invite'] },
  'workspace invite': {
    words: ['WORKSPACE', '--email', 'y@example.com', '--role', 'ADMIN'],
    fields: ['id', 'email', 'role', 'createdBy', 'expiresAt', 'createdAt'],
  },
  'workspace set-senders': { words: ['WORKSPACE', 'a.example'], fields: ['workspaceId', 'domains', 'shared'] },
  'workspace set-quota': { words: ['WORKSPACE', 'lists=1', 'forms=default'], fields: ['workspaceId', 'quotas'] },
  'workspace set-tracking': { words: ['WORKSPACE', 'OFF'], fields: ['workspaceId', 'trackingWithoutConsent'] },
  'workspace suspend': { words: ['WORKSPACE'], fields: ['workspaceId', 'suspendedAt'] },
  'workspace resume': { words: ['WORKSPACE'], fields: ['workspaceId', 'suspendedAt'] },
  'workspace delete': { words: ['WORKSPACE', '--name', 'Analytical Engines'], fields: ['id', 'name'] },
  'user list': { fields: ['data'] },
  'user reset': { words: ['ada@example.com'], fields: ['userId', 'email', 'emailVerifiedAt', 'endedSessions'] },
  'key list': { words: ['--workspace', 'WORKSPACE'], fields: ['data'] },
  'key create': {
    words: ['--workspace', 'WORKSPACE', '--name', 'Site'],
    fields: ['id', 'name', 'role', 'rights', 'prefix', 'createdBy', 'expiresAt', 'lastUsedAt', 'createdAt', 'key'],
  },
  'key revoke': { words: ['KEY', '--workspace', 'WORKSPACE'], fields: ['id', 'workspaceId'] },
  completion: { words: ['bash'], fields: ['shell', 'script'] },
  'erasure verify': {
    words: ['not-a-contact@example.com'],
    fields: ['searchedTables', 'searchedRedisKeys', 'found', 'notSearched'],
  },
  'contact opt-out': { words: [contact.id, ...access], record: contact, fields: Object.keys(contact) },
  'contact undo-opt-out': { words: [contact.id, ...access], record: contact, fields: Object.keys(contact) },
  'suppression list': { words: access, record: { data: [], nextCursor: null }, fields: ['data'] },
  'suppression add': { words: ['ada@example.com', ...access], record: suppression, fields: Object.keys(suppression) },
  'suppression lift': { words: [suppression.id, '--note', 'works', ...access], fields: ['id'] },
  'email send': {
    words: ['tpl_01kag7m3v9e8fs2t4w6x8y0z1b', 'ada@example.com', ...access],
    record: email,
    fields: Object.keys(email),
  },
  import: {
    words: ['--follow', importRecord.id, ...access],
    record: importRecord,
    fields: Object.keys(importRecord),
  },
}

beforeAll(async () => {
  const account = { email: 'ada@example.com', name: 'Ada', password: 'a long and secret sentence' }
  await signUp(await createTestCtx(database.db), account)
})

test.each(Object.entries(outputs))('%s prints its fields', async (name, { words = [], fields, record = {} }) => {
  const ctx = await createTestCtx(database.db)
  const { id } = await createApiKey(ctx, { name: 'Site', role: 'MEMBER', rights: null, expiresAt: null })
  api.respondWith(() => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(record) }))
  const values: Record<string, string> = { WORKSPACE: ctx.workspaceId, KEY: id, API: api.url }
  if (words.includes('HOOK'))
    values['HOOK'] = (await createInstallationHook(ctx, { provider: 'ses', secret: providerSecrets.ses })).id
  const given = words.map((word) => values[word] ?? word)
  const output = (await runForJson(database.url, [...name.split(' '), ...given])) as object
  expect(Object.keys(output).toSorted()).toEqual(fields.toSorted())
})

test('every command is tested', () => {
  const programs = ['api', 'worker', 'migrate']
  /**
   * All tests of the doctor read its JSON, `commands/listen.test.ts` the lines of `listen`, and
   * `backup/backup.slow.test.ts` the output of commands that need pg_dump, `distribute.int.test.ts` that of one that needs
   * Citus. `apps/local/src/main.slow.test.ts` has `demo`.
   */
  const others = [...programs, 'doctor', 'listen', 'backup', 'restore', 'distribute', 'demo']
  expect([...Object.keys(outputs), ...others].toSorted()).toEqual(commands.map(({ name }) => name).toSorted())
})
