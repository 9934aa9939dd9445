/** Workspace isolation in the database: constraints that hold even if the application has a bug. */
import { type SQLWrapper, sql } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import { createApiKey } from '../../auth/api-keys.ts'
import { createSegment } from '../../segments/segments.ts'
import { sendCampaign } from '../../campaigns/send-campaign.ts'
import { claimRecipients } from '../../campaigns/sending.ts'
import type { Ctx } from '../../request/context.ts'
import { violatedConstraint } from '../database-errors.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { enqueueMail } from '../../mail/mails.ts'
import { claimTestBatch } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestWebhook,
  createTestWorker,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { fillEmptyTables } from '@rapport/testing/fixtures/sample-rows.ts'
import { claimTestDrain } from '@rapport/testing/fixtures/webhook-drain.ts'
import { setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { transaction } from '../transaction.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'

const database = useTestDatabase()
let [ownUuid, otherUuid] = ['', '']
beforeAll(async () => {
  ownUuid = await fillWorkspace(await createTestCtx(database.db))
  otherUuid = await fillWorkspace(await createTestCtx(database.db))
})

/** Inserts at least one row into every table. Returns the UUID of the workspace. */
async function fillWorkspace(ctx: Ctx): Promise<string> {
  const { db } = ctx
  const workspaceId = sql`${uuidOf(ctx.workspaceId)}::uuid`
  await db.execute(sql`
    with person as (insert into users (id, email, password_hash) values (uuidv7(), gen_random_uuid()::text, 'x') returning id),
    joined as (insert into members (workspace_id, user_id, role) select ${workspaceId}, id, 'ADMIN' from person returning *)
    insert into sessions (token_hash, workspace_id, user_id, expires_at)
    select gen_random_uuid()::text, workspace_id, user_id, now() from joined`)
  await db.execute(sql`
    insert into idempotency_records (workspace_id, key, request_hash, status, body) values (${workspaceId}, 'k', 'h', 200, '')`)
  await db.execute(sql`
    insert into tracking_denials (workspace_id, email_hash, action) values (${workspaceId}, gen_random_uuid()::text, 'opens')`)
  await createApiKey(ctx, keyInput)
  const { id: webhookId } = await createTestWebhook(ctx)
  await createTestContact(ctx)
  await claimTestDrain(ctx, { workerId: await createTestWorker(db) })
  await setHealth(ctx, webhookId, { failureCount: 0 })
  await insertRelatedRows(ctx)
  await enqueueMail(ctx, { kind: 'CONFIRMATION', to: 'ada@example.com', data: {} })
  const segment = await createSegment(ctx, { name: 'All', filter: { field: 'email', isSet: true } })
  const campaign = await createTestCampaign(ctx, { confirmed: 2, segmentId: segment.id })
  await sendCampaign(ctx, campaign.id)
  const [uuid = ''] = await listPendingWork(ctx, 'campaigns')
  const batch = await claimTestBatch(ctx, uuid, await createTestWorker(db))
  await claimRecipients(ctx, batch, batch.contactUuids)
  await db.execute(sql`
    insert into campaign_link_clicks (workspace_id, campaign_id, position, slot)
    values (${workspaceId}, ${uuidOf(campaign.id)}, 0, 0)`)
  await fillEmptyTables(ctx, await readTables(), (await createTestContact(ctx)).id)
  // Makes addresses unique, so that only a foreign key can reject a move to the other workspace.
  await db.execute(sql`update contacts set email = id || '@example.com' where workspace_id = ${workspaceId}`)
  return uuidOf(ctx.workspaceId)
}
/** Inserts rows that belong to a contact, directly with SQL. */
async function insertRelatedRows(ctx: Ctx) {
  const [workspaceId, list] = [uuidOf(ctx.workspaceId), await createTestList(ctx, { name: 'Other' })]
  const contact = await createTestContact(ctx)
  for (const statement of [
    sql`insert into contact_aliases (workspace_id, id, contact_id) values (${workspaceId}, uuidv7(), ${uuidOf(contact.id)})`,
    sql`insert into custom_fields (workspace_id, id, key, label, type) values (${workspaceId}, uuidv7(), 'plan', 'Plan', 'TEXT')`,
    sql`insert into suppressions (workspace_id, id, email_hash, list_id, reason, source, first_said_at, said_at)
      values (${workspaceId}, uuidv7(), 'hash', ${uuidOf(list.id)}, 'OPTED_OUT', 'LINK', now(), now())`,
    sql`insert into visitor_mails (workspace_id, id, kind) values (${workspaceId}, uuidv7(), 'CONFIRMATION')`,
    sql`insert into templates (workspace_id, id, name, version) values (${workspaceId}, uuidv7(), 'Welcome', 1)`,
    sql`insert into template_versions (workspace_id, template_id, version, subject, variables, ground)
      select workspace_id, id, 1, 'Welcome', '[]', 'REQUEST' from templates where workspace_id = ${workspaceId}`,
    sql`insert into emails (workspace_id, id, template_id, template_version, ground, contact_id)
      values (${workspaceId}, uuidv7(), uuidv7(), 1, 'REQUEST', ${uuidOf(contact.id)})`,
    sql`insert into mail_reports (workspace_id, fingerprint) values (${workspaceId}, 'hash')`,
    sql`insert into mail_hooks (id, workspace_id, provider, encrypted_secret) values (uuidv7(), ${workspaceId}, 'ses', 'x')`,
    sql`insert into invites (workspace_id, id, email, role, token_hash, expires_at)
      values (${workspaceId}, uuidv7(), 'ada@example.com', 'MEMBER', gen_random_uuid()::text, now())`,
    sql`insert into imports (workspace_id, id, status, format, on_conflict, dry_run, each_event, position, line)
      values (${workspaceId}, uuidv7(), 'QUEUED', 'csv', 'skip', false, false, 0, 1)`,
    sql`insert into import_parts (workspace_id, import_id, position, bytes)
      select workspace_id, id, 0, '' from imports where workspace_id = ${workspaceId}`,
    sql`insert into import_seen (workspace_id, import_id, email_hash)
      select workspace_id, id, 7 from imports where workspace_id = ${workspaceId}`,
    sql`insert into companies (workspace_id, id, name, owner_id)
      select workspace_id, uuidv7(), 'Acme', user_id from members where workspace_id = ${workspaceId}`,
    sql`insert into deals (workspace_id, id, pipeline_id, stage_id, contact_id, company_id, owner_id)
      select s.workspace_id, uuidv7(), s.pipeline_id, s.id, ${uuidOf(contact.id)}, c.id, m.user_id
      from stages s join members m on m.workspace_id = s.workspace_id join companies c on c.workspace_id = s.workspace_id
      where s.workspace_id = ${workspaceId} and s.position = 3`,
    sql`insert into deal_moves
      (workspace_id, id, deal_id, from_pipeline_id, from_stage_id, from_status, to_pipeline_id, to_stage_id, to_status)
      select workspace_id, uuidv7(), id, pipeline_id, stage_id, 'WON', pipeline_id, stage_id, 'OPEN'
      from deals where workspace_id = ${workspaceId}`,
    sql`insert into tasks (workspace_id, id, contact_id, title, assignee_id)
      select workspace_id, uuidv7(), ${uuidOf(contact.id)}, 'Call', user_id from members where workspace_id = ${workspaceId}`,
    sql`insert into notes (workspace_id, id, kind, body, occurred_at, contact_id, company_id, deal_id, author_id)
      select d.workspace_id, uuidv7(), 'CALL', 'Called', now(), ${uuidOf(contact.id)}, d.company_id, d.id, user_id
      from deals d, members m where d.workspace_id = ${workspaceId} and m.workspace_id = ${workspaceId}`,
    sql`insert into forms (workspace_id, id, name, fields, list_id, success_message)
      values (${workspaceId}, uuidv7(), 'Contact us', '[]', ${uuidOf(list.id)}, 'Thanks')`,
    sql`insert into form_submissions (workspace_id, id, form_id, contact_id, "values", consents)
      select workspace_id, uuidv7(), id, ${uuidOf(contact.id)}, '{}', '[]' from forms where workspace_id = ${workspaceId}`,
  ]) {
    await ctx.db.execute(statement)
  }
}
const keyInput = { name: 'key', role: 'ADMIN' as const, rights: null, expiresAt: null }

interface Link {
  name: string
  table: string
  parent: string
  /** The columns on both sides, in order. */
  columns: string[]
  parentColumns: string[]
}

/** Reads every foreign key from the catalog, without those that partitions inherit. */
async function readLinks(): Promise<Link[]> {
  const nameColumns = (relation: string, numbers: string) =>
    sql.raw(`(select array_agg(a.attname::text order by k.n) from unnest(c.${numbers}) with ordinality k (number, n)
      join pg_attribute a on a.attrelid = c.${relation} and a.attnum = k.number)`)
  const found = await database.db.execute(sql`
    select c.conname as name, c.conrelid::regclass::text as table, c.confrelid::regclass::text as parent,
      ${nameColumns('conrelid', 'conkey')} as columns, ${nameColumns('confrelid', 'confkey')} as "parentColumns"
    from pg_constraint c
    where c.contype = 'f' and c.connamespace = 'public'::regnamespace and c.conparentid = 0 order by 1`)
  return found.rows as unknown as Link[]
}

/** The tables that have a `workspace_id`. */
async function readTables(): Promise<string[]> {
  const found = await database.db.execute<{ name: string }>(sql`
    select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
      and a.attname = 'workspace_id' order by 1`)
  return found.rows.map(({ name }) => name)
}

/** Tries a change and rolls it back. Returns the constraint that rejected it, or the error. */
async function tryChange(change: ReturnType<typeof sql>): Promise<string> {
  const refused = transaction(database.db, async (db) => {
    const { rowCount } = await db.execute(change)
    throw new Error(`${rowCount} rows were changed`)
  })
  return refused.catch((error: unknown) => violatedConstraint(error) ?? String((error as Error).cause))
}

test('every table has rows of both workspaces (a precondition of the next tests)', async () => {
  for (const table of await readTables()) {
    const found = await database.db.execute(sql`
      select distinct workspace_id from ${sql.identifier(table)} where workspace_id in (${ownUuid}, ${otherUuid})`)
    expect([table, found.rowCount]).toEqual([table, 2])
  }
})

test('every foreign key rejects a reference to another workspace', async () => {
  const tables = await readTables()
  const links = (await readLinks()).filter(({ parent }) => tables.includes(parent))
  expect(links.length).toBeGreaterThan(8)
  for (const { name, table, parent, columns, parentColumns } of links) {
    const at = columns.findIndex((column) => column !== 'workspace_id')
    const [own, foreign] = [sql.identifier(columns[at] ?? ''), sql.identifier(parentColumns[at] ?? '')]
    const readOne = async (column: SQLWrapper, of: string, workspaceUuid: string) => {
      const { rows } = await database.db.execute<{ value: string }>(sql`
        select ${column} as value from ${sql.identifier(of)} where workspace_id = ${workspaceUuid} and ${column} is not null limit 1`)
      return rows[0]?.value
    }
    const change = sql`
      update ${sql.identifier(table)} set ${own} = ${await readOne(foreign, parent, otherUuid)}
      where workspace_id = ${ownUuid} and ${own} = ${await readOne(own, table, ownUuid)}`
    expect(await tryChange(change)).toBe(name)
  }
})

test('a row with references cannot be moved to another workspace', async () => {
  const tables = await readTables()
  const links = (await readLinks()).filter(({ parent }) => tables.includes(parent))
  for (const table of new Set(links.flatMap(({ table, parent }) => [table, parent]))) {
    const change = sql`update ${sql.identifier(table)} set workspace_id = ${otherUuid} where workspace_id = ${ownUuid}`
    // Citus rejects every change of `workspace_id`.
    expect(await tryChange(change)).toMatch(/_fk$|modifying the partition value/)
  }
})

test('foreign keys between tenant tables start with workspace_id on both sides', async () => {
  const tables = await readTables()
  const wrong = (await readLinks()).filter(
    ({ table, parent, columns, parentColumns }) =>
      tables.includes(parent) &&
      !(tables.includes(table) && columns[0] === 'workspace_id' && parentColumns[0] === 'workspace_id'),
  )
  expect(wrong).toEqual([])
})

test('primary keys of tenant tables start with workspace_id, with three exceptions', async () => {
  const found = await database.db.execute<{ name: string }>(sql`
    select c.conrelid::regclass::text as name from pg_constraint c
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'p' and c.connamespace = 'public'::regnamespace and a.attname = 'workspace_id'`)
  const leading = found.rows.map(({ name }) => name)
  // The key of a host decides which workspace has it. Sessions are found by a secret token, mail hooks by their URL. Some mail hooks have no workspace.
  expect((await readTables()).filter((table) => !leading.includes(table))).toEqual(['hosts', 'mail_hooks', 'sessions'])
})

test('every tenant table references its workspace, directly or through parents', async () => {
  const links = await readLinks()
  const linked = new Set(['workspaces'])
  for (let size = 0; size !== linked.size; ) {
    size = linked.size
    for (const { table, parent } of links) if (linked.has(parent)) linked.add(table)
  }
  expect((await readTables()).filter((table) => !linked.has(table))).toEqual([])
})
