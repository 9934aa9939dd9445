/** Each table is written by its slice alone, so that a rule about it has one place. */
import * as schema from '@rapport/core/db/schema/index.ts'
import { is, Table } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { core, sourceFiles } from './source-files.ts'

/** Who may write a table: folders and files of core, unless they start with `apps/`. */
const owners: Record<string, string[]> = {
  workspaces: ['workspaces/', 'operations/delete-workspace.ts'],
  users: ['auth/'],
  members: ['auth/', 'team/', 'operations/delete-workspace.ts'],
  sessions: ['auth/'],
  apiKeys: ['auth/'],
  invites: ['team/', 'operations/delete-workspace.ts'],
  passwordResets: ['auth/'],
  loginFailures: ['auth/'],
  auditEntries: ['audit/'],
  idempotencyRecords: ['request/idempotency.ts', 'apps/api/src/http/idempotency.ts'],
  contacts: ['contacts/', 'subscriptions/subscribed-status.ts'],
  customFields: ['contacts/'],
  contactAliases: ['contacts/'],
  lists: ['lists/'],
  subscriptions: ['subscriptions/', 'lists/'],
  optOuts: ['subscriptions/'],
  suppressions: ['subscriptions/'],
  forms: ['forms/'],
  formSubmissions: ['forms/'],
  pipelines: ['pipelines/'],
  stages: ['pipelines/'],
  deals: ['deals/'],
  dealMoves: ['deals/'],
  tasks: ['tasks/'],
  // Recovery marks the claims of dead workers as interrupted in every table that has claims; a restored backup likewise.
  campaigns: ['campaigns/', 'operations/restored-backup.ts'],
  campaignBatches: ['campaigns/', 'operations/dead-worker-recovery.ts'],
  campaignRecipients: ['campaigns/', 'operations/dead-worker-recovery.ts', 'operations/restored-backup.ts'],
  imports: ['imports/', 'operations/dead-worker-recovery.ts'],
  importParts: ['imports/'],
  importSeen: ['imports/'],
  mails: ['mail/', 'operations/dead-worker-recovery.ts', 'operations/restored-backup.ts'],
  mailReports: ['operations/mail-events.ts'],
  mailPace: ['mail/'],
  webhooks: ['webhooks/'],
  events: ['events/', 'db/adopt-restored-events.ts'],
  // An event and what is due for it are one statement.
  deliveries: ['webhooks/', 'events/emit.ts', 'operations/dead-worker-recovery.ts', 'operations/restored-backup.ts'],
  // So are a delivery's outcome and the end of its work.
  outbox: ['jobs/outbox.ts', 'webhooks/settlement.ts', 'webhooks/abandoned-deliveries.ts'],
  workers: ['jobs/worker-registry.ts', 'operations/dead-worker-recovery.ts'],
}

test('every table has an owner', () => {
  const tables = Object.entries(schema).filter(([, value]) => is(value, Table))
  expect(Object.keys(owners).toSorted()).toEqual(tables.map(([name]) => name).toSorted())
})

test('only its owner writes a table', () => {
  const writes = /(?:\.(?:insert|update|delete)\(\s*|\b(?:insert into|update|delete from)\s+(?:\$\{)?)(\w+)/gi
  const found = sourceFiles
    .filter(({ path, isTest }) => !isTest && !/^(packages\/testing|apps\/(e2e|bench))\//.test(path))
    .flatMap(({ path, code }) =>
      [...code.matchAll(writes)].flatMap(([write, name = '']) => {
        const table = name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase())
        const isOwner = owners[table]?.some((owner) =>
          path.startsWith(owner.startsWith('apps/') ? owner : core + owner),
        )
        return table in owners && !isOwner ? [`${path}: ${write}`] : []
      }),
    )
  expect(found).toEqual([])
})
