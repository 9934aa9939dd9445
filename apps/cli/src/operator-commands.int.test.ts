/** Tests the commands that change a workspace: senders, quotas, suspension. */
import { requireSecretKey } from '@rapport/core/installation/key-check.ts'
import { readQuotas } from '@rapport/core/quotas/require-quota.ts'
import { listSenderDomains } from '@rapport/core/domains/senders.ts'
import { listAuditEntries } from '@rapport/core/audit/audit.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { parseCommandLine } from './command-line.ts'
import { commands } from './commands.ts'
import { runCommandLine } from './testing.ts'

const database = useTestDatabase()

async function run(words: string[], environment?: Record<string, string>) {
  const { stdout, stderr } = await runCommandLine(database.url, words, environment)
  return [stdout, stderr].filter(Boolean).join('\n')
}

const listActions = async (ctx: Awaited<ReturnType<typeof createTestCtx>>) =>
  (await listAuditEntries(ctx, { limit: 10, sort: 'createdAt' })).data.map(({ action, details }) => ({
    action,
    ...details,
  }))

test('workspace set-senders replaces the domains, and removes them with ""', async () => {
  const ctx = await createTestCtx(database.db)
  await run(['workspace', 'set-senders', ctx.workspaceId, 'old.example'])
  await run(['workspace', 'set-senders', ctx.workspaceId, ' Engines.example, büro.example ,'])
  expect(await listSenderDomains(ctx)).toEqual(['engines.example', 'xn--bro-hoa.example'])
  await run(['workspace', 'set-senders', ctx.workspaceId, ''])
  expect(await listSenderDomains(ctx)).toEqual([])
  expect(await listActions(ctx)).toMatchObject([
    { action: 'workspace.senders_changed', domains: 'old.example' },
    { domains: 'engines.example,xn--bro-hoa.example' },
    { domains: '' },
  ])
})

test('workspace set-senders names the workspaces that have a domain too', async () => {
  const [one, other, third] = [
    await createTestCtx(database.db),
    await createTestCtx(database.db),
    await createTestCtx(database.db),
  ]
  await run(['workspace', 'set-senders', one.workspaceId, 'shared.example'])
  await run(['workspace', 'set-senders', third.workspaceId, 'unshared.example'])
  const output = await run(['workspace', 'set-senders', other.workspaceId, 'shared.example,own.example'])
  expect(output).toContain(`Warning: ${one.workspaceId} has shared.example too, and may send from it.`)
  expect(output).not.toContain(third.workspaceId)
  const part = await run(['workspace', 'set-senders', third.workspaceId, 'news.shared.example'])
  for (const { workspaceId } of [one, other]) expect(part).toContain(`Warning: ${workspaceId} has shared.example too`)
})

test('workspace set-quota sets several quotas, and "default" resets one', async () => {
  const ctx = await createTestCtx(database.db)
  await run(['workspace', 'set-quota', ctx.workspaceId, 'contacts=7', 'lists=0', 'forms=3'])
  expect(await readQuotas(ctx)).toMatchObject({ contacts: 7, lists: Infinity, forms: 3 })
  expect(await run(['workspace', 'set-quota', ctx.workspaceId, 'contacts=default'])).toBe(
    'contacts: as for the installation',
  )
  expect(await readQuotas(ctx)).toMatchObject({ contacts: ctx.settings.quotas.contacts, lists: Infinity, forms: 3 })
  expect(await listActions(ctx)).toMatchObject([
    { action: 'workspace.quotas_changed', contacts: 7 },
    { contacts: null },
  ])
})

test('workspace set-tracking sets the level, and workspace show says what it means', async () => {
  const ctx = await createTestCtx(database.db)
  expect(await run(['workspace', 'set-tracking', ctx.workspaceId, 'PERSON'])).toBe('PERSON')
  expect(await run(['workspace', 'show', ctx.workspaceId])).toMatch(/^No consent +PERSON: opens and clicks/m)
  expect(await listActions(ctx)).toMatchObject([{ action: 'workspace.changed', trackingWithoutConsent: 'PERSON' }])
})

test('workspace suspend and resume are recorded once, and workspace list shows them', async () => {
  const ctx = await createTestCtx(database.db)
  for (let count = 0; count < 2; count++) await run(['workspace', 'suspend', ctx.workspaceId])
  expect(await run(['workspace', 'list'])).toMatch(new RegExp(`^${ctx.workspaceId} +\\S+Z +\\S+Z `, 'm'))
  for (let count = 0; count < 2; count++) await run(['workspace', 'resume', ctx.workspaceId])
  expect(await run(['workspace', 'list'])).toMatch(new RegExp(`^${ctx.workspaceId} +\\S+Z +no `, 'm'))
  expect(await listActions(ctx)).toMatchObject([{ action: 'workspace.suspended' }, { action: 'workspace.resumed' }])
})

const unknown = newId('wsp')
test.each([
  [['set-senders', unknown, 'a.example']],
  [['set-quota', unknown, 'lists=1']],
  [['set-tracking', unknown, 'OFF']],
  [['suspend', unknown]],
  [['resume', unknown]],
])('workspace %j names an unknown workspace', async (words) => {
  await expect(run(['workspace', ...words])).rejects.toThrow(
    `Workspace ${unknown} not found. "rapport workspace list" lists the ids.`,
  )
})

test.each([
  [['set-senders', unknown], '<domains>: is required'],
  [['set-senders', unknown, 'not a domain'], '<domains>: "not a domain" is not a domain'],
  [['set-senders', unknown, 'a.example', 'b.example'], 'Unexpected argument "b.example"'],
  [['set-quota', unknown], '<quotas>: is required'],
  [['set-quota', unknown, 'contact=1'], '<quotas>: unknown quota "contact" (did you mean "contacts"?)'],
  [['set-quota', unknown, 'contacts'], '<quotas>: "contacts" is not of the form <name>=<limit>'],
  [['set-quota', unknown, 'lists=1', 'contacts=-1'], 'contacts: must be a whole number'],
  [['set-quota', unknown, 'contacts='], 'contacts: must be a whole number'],
  [['set-tracking', unknown, 'person'], '<level>: must be OFF, ANONYMOUS, PERSON'],
  [['suspend'], '<workspace>: is required'],
])('workspace %j is rejected: %s', async (words, problem) => {
  await expect(parseCommandLine(commands, ['workspace', ...words])).rejects.toThrow(problem)
})

test('workspace set-senders rejects a domain that MAIL_FROM_DOMAINS does not allow', async () => {
  const { workspaceId } = await createTestCtx(database.db)
  const words = ['workspace', 'set-senders', workspaceId, 'bank.example']
  await expect(run(words, { MAIL_FROM_DOMAINS: 'example.org' })).rejects.toThrow('bank.example: MAIL_FROM_DOMAINS')
})

test('a command that needs SECRET_KEY rejects one that is not the key of the database', async () => {
  const ctx = await createTestCtx(database.db)
  await requireSecretKey(database.db, ctx.settings.keys)
  await expect(run(['workspace', 'suspend', ctx.workspaceId])).rejects.toThrow(
    /^Invalid configuration:\n {2}SECRET_KEY: is not the key of this database/,
  )
  expect(await listActions(ctx)).toEqual([])
  await database.pool.query('truncate installation')
})
