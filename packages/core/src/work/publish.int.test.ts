import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { randomUUID } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  addSubscribers,
  createTestCampaign,
  createTestCtx,
  createTestList,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { chooseSeed, countRuns, createRandom } from '@rapport/testing/runs.ts'
import { openTransaction } from '@rapport/testing/postgres/database.ts'
import { cancelCampaign, pauseCampaign, resumeCampaign } from '../campaigns/lifecycle.ts'
import { sendCampaign } from '../campaigns/send-campaign.ts'
import { work } from '../db/schema/index.ts'
import { createEmailBatch } from '../emails/create-email-batch.ts'
import { updateTemplate } from '../emails/templates/templates.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { enqueue, finishWork } from './enqueue.ts'
import { type WorkKind } from './kinds.ts'
import {
  delayUnclaimableWork,
  delayWork,
  findPublishableWork,
  markPublished,
  requeueWork,
  requeueWorkOfWorkspace,
} from './publish.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  await database.pool.query('truncate workspaces cascade')
  ctx = await createTestCtx(database.db)
})

/** Enqueues work without a subject. Returns its UUIDs, oldest first. */
async function enqueueSome(count: number, options: { on?: Ctx; kind?: WorkKind } = {}): Promise<string[]> {
  const { on = ctx, kind = 'MAIL' } = options
  const { rows } = await on.db.execute<{ id: string }>(sql`
    insert into work (id, workspace_id, kind, created_at, due_at)
    select uuidv7(), ${uuidOf(on.workspaceId)}, ${kind}, at, at
    from (select now() - interval '1 hour' + n * interval '1 ms' as at from generate_series(1, ${count}::int) n) rows
    returning id, created_at`)
  return rows.map(({ id }) => id)
}

const find = async () => (await findPublishableWork(database.db)).map(({ id }) => id)

/** Publishes all publishable work, as the poll does. Returns its UUIDs. */
async function publish(): Promise<string[]> {
  const jobs = await findPublishableWork(database.db)
  await markPublished(database.db, jobs)
  return jobs.map(({ id }) => id)
}

/** Moves all times into the past, as if so many seconds had passed. */
async function backdateWork(seconds: number) {
  const times = ['created_at', 'due_at', 'published_at'].map((column) => backdate(column, `${seconds} seconds`))
  await database.db.execute(sql`update work set ${sql.join(times, sql`, `)}`)
}

describe('work', () => {
  test('is never published if its transaction is rolled back', async () => {
    const enqueueOne = async (ctx: Ctx) => {
      const uuid = randomUUID()
      await enqueue(ctx, 'MAIL', idOf('mai', uuid))
      return uuid
    }
    const fail = async (ctx: Ctx) => {
      await enqueueOne(ctx)
      throw new Error('roll back')
    }
    await expect(inTransaction(ctx, fail)).rejects.toThrow('roll back')
    const kept = await inTransaction(ctx, async (ctx) => {
      const outer = await enqueueOne(ctx)
      await expect(inTransaction(ctx, fail)).rejects.toThrow('roll back')
      expect(await find()).toEqual([])
      return outer
    })
    expect(await find()).toEqual([kept])
  })

  test('is published with its kind, workspace and request', async () => {
    const uuid = randomUUID()
    await enqueue({ ...ctx, traceparent: 'the trace' }, 'IMPORT', idOf('imp', uuid))
    expect(await findPublishableWork(database.db)).toEqual([
      {
        workspaceId: ctx.workspaceId,
        kind: 'IMPORT',
        id: uuid,
        requestId: ctx.requestId,
        traceparent: 'the trace',
      },
    ])
  })

  test('is published again every ten seconds until it is finished', async () => {
    const uuids = await enqueueSome(2)
    expect(await publish()).toEqual(uuids)
    expect(await find()).toEqual([])
    await backdateWork(9)
    expect(await find()).toEqual([])
    await backdateWork(2)
    expect(await publish()).toEqual(uuids)
    await finishWork(ctx, uuids.slice(0, 1))
    await backdateWork(11)
    expect(await find()).toEqual(uuids.slice(1))
  })

  test('is published immediately when requeued, and never when finished', async () => {
    const [finished = '', kept = ''] = await enqueueSome(2)
    await publish()
    await finishWork(ctx, [finished])
    await requeueWork(ctx, [finished, kept])
    expect(await publish()).toEqual([kept])
  })

  test('does not block the poll while it is being claimed', async () => {
    const uuids = await enqueueSome(3)
    const claiming = await openTransaction(database.db, (db) =>
      db.execute(sql`select from work where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuids[0]} for update`),
    )
    expect(await publish()).toEqual(uuids)
    // The locked row may be published once more.
    expect(await find()).toEqual(uuids.slice(0, 1))
    await claiming.commit()
  })
})

describe('fair sharing between workspaces', () => {
  test.each<[WorkKind, number]>([
    ['CAMPAIGN_BATCH', 20],
    ['MAIL', 100],
    ['IMPORT', 4],
    ['CLEAR_LIST', 20],
  ])('of %s, at most %i jobs per workspace are published, oldest first', async (kind, limit) => {
    const many = await enqueueSome(1_000, { kind })
    const other = await enqueueSome(2, { on: await createTestCtx(database.db), kind })
    const published = await publish()
    expect(published.toSorted()).toEqual([...many.slice(0, limit), ...other].toSorted())
    expect(await find()).toEqual([])
    await finishWork(ctx, many.slice(0, 2))
    expect(await publish()).toEqual(many.slice(limit, limit + 2))
    await backdateWork(11)
    expect((await find()).toSorted()).toEqual([...many.slice(2, limit + 2), ...other].toSorted())
  })

  test('a workspace clears one custom field after the other', async () => {
    const fields = await enqueueSome(3, { kind: 'CLEAR_CUSTOM_FIELD' })
    const [other] = await enqueueSome(3, { kind: 'CLEAR_CUSTOM_FIELD', on: await createTestCtx(database.db) })
    expect(new Set(await publish())).toEqual(new Set([fields[0], other]))
    await finishWork(ctx, fields.slice(0, 1))
    expect(await publish()).toEqual(fields.slice(1, 2))
  })

  test('each kind has its own limit', async () => {
    const imports = await enqueueSome(10, { kind: 'IMPORT' })
    const batches = await enqueueSome(30, { kind: 'CAMPAIGN_BATCH' })
    const mails = await enqueueSome(3)
    const expected = [...imports.slice(0, 4), ...batches.slice(0, 20), ...mails]
    expect((await find()).toSorted()).toEqual(expected.toSorted())
  })

  test('finding work reads tens of thousands of waiting rows only once', async () => {
    await enqueueSome(30_000, { kind: 'CAMPAIGN_BATCH' })
    await database.pool.query('vacuum analyze work')
    const read = async () => {
      await database.pool.query('select pg_stat_force_next_flush()')
      const { rows } = await database.pool.query<{ count: string }>(
        `select seq_tup_read + idx_tup_fetch as count from pg_stat_user_tables where relname = 'work'`,
      )
      return Number(rows[0]?.count)
    }
    const before = await read()
    expect(await find()).toHaveLength(20)
    expect((await read()) - before).toBeLessThan(31_000)
  })
})

describe('delayed work', () => {
  test('is published after ten minutes or when requeued; not counted until then', async () => {
    const uuids = await enqueueSome(10, { kind: 'IMPORT' })
    await delayWork(ctx, uuids.slice(0, 4))
    expect(await publish()).toEqual(uuids.slice(4, 8))
    await requeueWork(ctx, uuids.slice(0, 1))
    expect(await publish()).toEqual(uuids.slice(0, 1))
    await finishWork(ctx, uuids.slice(4))
    await backdateWork(595)
    expect(await find()).toEqual(uuids.slice(0, 1))
    await backdateWork(20)
    expect(await find()).toEqual(uuids.slice(0, 4))
  })

  test('is not delayed if it was requeued while a job tried to claim it', async () => {
    const [first = '', second = ''] = await enqueueSome(2)
    await publish()
    await requeueWork(ctx, [first])
    await delayUnclaimableWork(ctx, [first])
    await delayUnclaimableWork(ctx, [second])
    await backdateWork(11)
    expect(await find()).toEqual([first])
    await backdateWork(600)
    expect(await find()).toEqual([first, second])
  })

  test('of a paused campaign does not block another campaign of the workspace', async () => {
    const paused = await startTestCampaign(ctx, 200 * 25)
    await pauseCampaign(ctx, paused.id)
    const list = await createTestList(ctx, { name: 'Other' })
    await addSubscribers(ctx, list.id, { count: 3, name: 'other' })
    const other = await createTestCampaign(ctx, { listId: list.id })
    await sendCampaign(ctx, other.id)
    const [batch = ''] = (await listPendingWork(ctx, 'campaigns')).filter((uuid) => !paused.batches.includes(uuid))
    expect(await publish()).toEqual([batch])
    await resumeCampaign(ctx, paused.id)
    // The job of the other campaign counts toward the limit until it is done.
    const resumed = await publish()
    expect(resumed).toHaveLength(20)
    expect(paused.batches).toEqual(expect.arrayContaining(resumed))
    await pauseCampaign(ctx, paused.id)
    await backdateWork(11)
    expect(await find()).toEqual([batch])
    await cancelCampaign(ctx, paused.id)
    expect((await find()).toSorted()).toEqual(paused.batches.slice(0, 20).toSorted())
  })
})

test.each([-900_000, 900_000])('a delay is not by the clock of the process, which is %d ms off', async (off) => {
  const uuids = await enqueueSome(2)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + off })
  onTestFinished(() => void vi.useRealTimers())
  await delayWork(ctx, uuids)
  vi.useRealTimers()
  expect(await find()).toEqual([])
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + off })
  await requeueWorkOfWorkspace(ctx)
  vi.useRealTimers()
  expect((await find()).toSorted()).toEqual(uuids.toSorted())
})

test('emails of a paused template do not wait before those of another one', async () => {
  const [paused, other] = [await createTestTemplate(ctx), await createTestTemplate(ctx)]
  const ids = []
  for (let batch = 0; batch < 2; batch++) {
    const emails = Array.from({ length: 90 }, (_, n) => ({
      templateId: paused.id,
      to: { email: `person-${batch}-${n}@example.com` },
      data: { resetUrl: 'https://shop.example/reset/x' },
    }))
    const { results } = await createEmailBatch(ctx, { emails })
    ids.push(...results.flatMap((result) => (result.status === 'ACCEPTED' ? [uuidOf(result.email.id)] : [])))
  }
  expect(await publish()).toHaveLength(5)
  await updateTemplate(ctx, paused.id, { status: 'PAUSED' })
  await delayUnclaimableWork(ctx, ids.slice(0, 1))
  const { id } = await createTestEmail(ctx, other.id)
  expect(await publish()).toEqual([uuidOf(id)])
  await requeueWorkOfWorkspace(ctx)
  await backdateWork(601)
  expect(await find()).toEqual([uuidOf(id)])
  await updateTemplate(ctx, paused.id, { status: 'ACTIVE' })
  expect(await find()).toHaveLength(5)
})

const seed = chooseSeed(20_261_125)

test(`the same rows can be requeued, delayed and published concurrently (seed ${seed})`, async () => {
  const random = createRandom(seed)
  const count = countRuns({ gate: 60, full: 200 })
  // By the statistics of an emptied table PostgreSQL plans for one row.
  await enqueueSome(count)
  await database.db.delete(work)
  await database.db.execute(sql`analyze ${work}`)
  const uuids = await enqueueSome(count)
  const shuffled = () => uuids.toSorted(() => random() - 0.5)
  const all = Array.from({ length: 8 }, () => [
    requeueWork(ctx, shuffled()),
    delayWork(ctx, shuffled()),
    markPublished(
      database.db,
      shuffled().map((id) => ({ workspaceId: ctx.workspaceId, id })),
    ),
  ])
  await Promise.all(all.flat())
  expect(await database.db.$count(work, eq(work.workspaceId, ctx.workspaceId))).toBe(count)
})
