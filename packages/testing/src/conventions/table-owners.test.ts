/** Each table is written by its slice alone, so that a rule about it has one place. */
import * as schema from '@rapport/core/db/schema/index.ts'
import { is, Table } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { core, coreSources, sourceFiles } from './source-files.ts'

/** A table belongs to the folder that has the name of its schema file: `tasks/` writes what `db/schema/tasks.ts` defines. */
const ownFolders = Object.fromEntries(
  coreSources.flatMap(({ path, code }) => {
    const [, folder] = /\/db\/schema\/([\w-]+)\.ts$/.exec(path) ?? []
    const tables = [...code.matchAll(/^export const (\w+) = (?:tenantTable|pgTable)\(/gm)]
    return folder ? tables.map(([, table = '']) => [table, [`${folder}/`]]) : []
  }),
) as Record<string, string[]>

/** Tables that other folders or files write too: those of core, unless they start with `apps/`. */
const exceptions: Record<string, string[]> = {
  workspaces: ['workspaces/', 'operations/delete-workspace.ts'],
  members: ['auth/', 'team/', 'operations/delete-workspace.ts'],
  invites: ['team/', 'operations/delete-workspace.ts'],
  idempotencyRecords: ['request/idempotency.ts', 'apps/api/src/http/idempotency.ts'],
  contacts: ['contacts/', 'subscriptions/subscribed-status.ts'],
  subscriptions: ['subscriptions/', 'lists/'],
  // Recovery marks the claims of dead workers as interrupted in every table that has claims; a restored backup likewise.
  campaigns: ['campaigns/', 'operations/restored-backup.ts'],
  campaignBatches: ['campaigns/', 'operations/orphaned-claims.ts'],
  campaignRecipients: ['campaigns/', 'operations/orphaned-claims.ts', 'operations/restored-backup.ts'],
  imports: ['imports/', 'operations/orphaned-claims.ts'],
  mails: ['mail/', 'operations/orphaned-claims.ts', 'operations/restored-backup.ts'],
  mailReports: ['operations/mail-events.ts'],
  events: ['events/', 'db/adopt-restored-events.ts'],
  // An event and what is due for it are one statement.
  deliveries: ['webhooks/', 'events/emit.ts', 'operations/orphaned-claims.ts', 'operations/restored-backup.ts'],
  webhookDrains: ['webhooks/', 'operations/orphaned-claims.ts'],
  outbox: ['jobs/outbox.ts', 'operations/delete-workspace.ts'],
  workers: ['jobs/worker-registry.ts', 'operations/orphaned-claims.ts'],
}

const owners = { ...ownFolders, ...exceptions }

test('every table has an owner', () => {
  const tables = Object.entries(schema).filter(([, value]) => is(value, Table))
  expect(Object.keys(owners).toSorted()).toEqual(tables.map(([name]) => name).toSorted())
  expect(Object.keys(ownFolders)).toEqual(expect.arrayContaining(Object.keys(exceptions)))
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
