/** Only the slice that owns a table writes to it, so that the rules of the table are in one place. */
import * as schema from '@rapport/core/db/schema/index.ts'
import { is, Table } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { core, coreSources, sourceFiles } from './source-files.ts'

/** The folder with the name of a schema file owns its tables: `tasks/` owns the tables of `db/schema/tasks.ts`. */
const ownFolders = Object.fromEntries(
  coreSources.flatMap(({ path, code }) => {
    const [, folder] = /\/db\/schema\/([\w-]+)\.ts$/.exec(path) ?? []
    const tables = [...code.matchAll(/^export const (\w+) = (?:tenantTable|pgTable)\(/gm)]
    return folder ? tables.map(([, table = '']) => [table, [`${folder}/`]]) : []
  }),
) as Record<string, string[]>

/** Tables that further files write. Paths are relative to the sources of core unless they start with `apps/`. */
const exceptions: Record<string, string[]> = {
  workspaces: ['workspaces/', 'operations/workspaces/'],
  members: ['auth/', 'team/', 'operations/workspaces/'],
  invites: ['team/', 'operations/workspaces/'],
  idempotencyRecords: ['request/idempotency.ts', 'apps/api/src/http/handlers/idempotency.ts'],
  companies: ['companies/', 'custom-fields/clear-custom-field.ts', 'operations/contacts/delete-company.ts'],
  contacts: ['contacts/', 'custom-fields/clear-custom-field.ts', 'consent/subscribed-status.ts'],
  deals: ['deals/', 'custom-fields/clear-custom-field.ts'],
  // `deriveStatuses` alone writes statuses, and what they are derived from. A deleted list or contact deletes its own.
  subscriptions: ['consent/derive-statuses.ts', 'lists/delete-list.ts', 'lists/delete-subscriptions.ts'],
  suppressions: ['consent/derive-statuses.ts', 'lists/delete-list.ts'],
  // Recovery, and the command for a restored backup, mark orphaned claims as interrupted in every table with claims.
  campaigns: ['campaigns/', 'operations/recovery/'],
  campaignRecipients: ['campaigns/', 'operations/recovery/'],
  mails: ['mail/', 'operations/recovery/'],
  mailReports: ['operations/mail/'],
  events: ['events/', 'db/adopt-restored-events.ts'],
  // One statement inserts an event and its deliveries.
  deliveries: ['webhooks/', 'events/emit.ts', 'operations/recovery/', 'operations/recovery/'],
  webhookHealth: ['webhooks/', 'operations/recovery/'],
  work: [
    'work/',
    'campaigns/sending-statements.ts',
    'operations/workspaces/',
    'operations/recovery/',
    'webhooks/drain/',
  ],
  workers: ['work/worker-registry.ts', 'operations/recovery/'],
}

const owners = { ...ownFolders, ...exceptions }

test('every table has an owner', () => {
  const tables = Object.entries(schema).filter(([, value]) => is(value, Table))
  expect(Object.keys(owners).toSorted()).toEqual(tables.map(([name]) => name).toSorted())
  expect(Object.keys(ownFolders)).toEqual(expect.arrayContaining(Object.keys(exceptions)))
})

test('only the owner writes to a table', () => {
  const writes =
    /(?:\.(?:insert|update|delete)\(\s*|\bpurgeRows\(db, |\b(?:insert into|update|delete from)\s+(?:\$\{)?)(\w+)/gi
  const found = sourceFiles
    .filter(
      ({ path, isTest }) =>
        !isTest && !/^(packages\/testing|apps\/(e2e|bench)|apps\/(api|worker)\/test|examples)\//.test(path),
    )
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
