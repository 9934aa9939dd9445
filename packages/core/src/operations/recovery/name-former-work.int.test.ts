/** The APIs of the release before go on during an upgrade: they write to the view `outbox`. */
import { createTestContact, createTestCtx, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { queueTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { createCustomField, deleteCustomField } from '../../custom-fields/custom-fields.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { deleteList } from '../../lists/delete-list.ts'
import { enqueueMail } from '../../mail/mails.ts'
import { findPublishableWork } from '../../work/publish.ts'
import { deleteContact } from '../contacts/delete-contact.ts'
import { deleteWorkspace } from '../workspaces/delete-workspace.ts'
import { nameFormerWork } from './name-former-work.ts'
import { readWorkspace } from '../../workspaces/workspaces.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const queues = {
  ACCOUNT_MAIL: 'mail',
  MAIL: 'mail',
  CAMPAIGN_BATCH: 'campaigns',
  IMPORT: 'imports',
  CLEAR_LIST: 'maintenance',
  CLEAR_CUSTOM_FIELD: 'maintenance',
  ERASE_CONTACT: 'maintenance',
  CLEAR_WORKSPACE: 'maintenance',
}

beforeEach(async () => {
  await database.pool.query('truncate work')
  for (const kind of ['PASSWORD_RESET', 'CONFIRMATION'] as const)
    await enqueueMail(ctx, { kind, to: 'ada@example.com', data: {} })
  await startTestCampaign(ctx, 1)
  await queueTestImport(ctx, 'email\n')
  await deleteList(ctx, (await createTestList(ctx, { name: 'Other' })).id)
  await deleteCustomField(ctx, (await createCustomField(ctx, { key: 'x', label: 'X', type: 'TEXT', options: [] })).id)
  await deleteContact(ctx, (await createTestContact(ctx)).id)
  const other = await createTestCtx(database.db)
  await deleteWorkspace(other, { name: (await readWorkspace(other)).name })
})

const readKinds = async () =>
  (await database.pool.query<{ id: string; kind: string | null }>('select id, kind from work order by id')).rows

/** Replaces all work by what the release before would have inserted: with the columns of its schema, and no kind. */
async function insertAsBefore() {
  const { rows } = await database.pool.query<{ id: string; workspace_id: string; kind: keyof typeof queues }>(
    'delete from work returning id, workspace_id, kind',
  )
  for (const { id, workspace_id, kind } of rows)
    await database.pool.query(
      `insert into outbox (id, workspace_id, queue, published_at, request_id, traceparent, created_at, lane,
         relayed_epoch, relayed_at, relays)
       values ($1, $2, $3, default, 'request', null, default, default, default, default, default)`,
      [id, workspace_id, queues[kind]],
    )
}

test('work that an API of the release before inserts gets its kind', async () => {
  const expected = await readKinds()
  expect(new Set(expected.map(({ kind }) => kind))).toEqual(new Set(Object.keys(queues)))
  await insertAsBefore()
  expect((await readKinds()).map(({ kind }) => kind)).toEqual(expected.map(() => null))
  await nameFormerWork(database.db)
  expect(await readKinds()).toEqual(expected)
  expect(await findPublishableWork(database.db)).toHaveLength(expected.length)
})

test('an API of the release before can delay, requeue and delete work, claimed or not', async () => {
  const [one, other] = await readKinds()
  await database.db.execute(sql`
    update work set token = gen_random_uuid(), worker_id = gen_random_uuid(), claimed_at = now() where id = ${one?.id}`)
  const isOfWorkspace = `workspace_id in (select workspace_id from outbox)`
  await database.pool.query(
    `update outbox set published_at = now() + interval '1 hour' where ${isOfWorkspace} and id in (
       select id from outbox where ${isOfWorkspace} order by id for update)`,
  )
  expect(await findPublishableWork(database.db)).toEqual([])
  await database.pool.query('update outbox set published_at = null where id = any($1)', [[one?.id, other?.id]])
  expect((await findPublishableWork(database.db)).map(({ id }) => id)).toEqual([other?.id])
  const { rowCount } = await database.pool.query('delete from outbox where workspace_id = $1', [
    uuidOf(ctx.workspaceId),
  ])
  expect(rowCount).toBe(7)
})
