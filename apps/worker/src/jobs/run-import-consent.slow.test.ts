import { readImport } from '@rapport/core/imports/imports.ts'
import { purgeImports } from '@rapport/core/imports/purge-imports.ts'
import type { Import } from '@rapport/core/imports/imports.schema.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { createTestCtx, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { queueTestImport, runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { startWorkerProcess } from '../../test/worker-processes.ts'

const database = useTestDatabase()
const redis = useForFile(createTestRedis)

const rowCount = countRuns({ gate: 5_000, full: 20_000 })
/** Every fifth row opts out, and so do the last rows, of people whom earlier rows confirm. */
const file = [
  'email,status\n',
  ...Array.from({ length: rowCount }, (_, index) => {
    const isLast = index >= rowCount - 400
    const person = isLast ? (rowCount - index) * 10 + 3 : index
    const status = isLast ? 'spam' : (['unsubscribed', 'cleaned'][index % 10] ?? 'subscribed')
    return `person${person}@example.com,${status}\n`
  }),
]

test('a worker that is killed in each pass leaves what an import without a kill leaves', async () => {
  const [expected, ctx] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  const options = async (ctx: Ctx) => ({ listId: (await createTestList(ctx)).id })
  const undisturbed = await runTestImport(expected, file, await options(expected))
  const { id } = await queueTestImport(ctx, file, await options(ctx))
  const confirmedWhileKilled: number[] = []
  const killWhen = async (describe: string, isReached: (record: Import) => boolean) => {
    const worker = await startWorkerProcess({ env: { DATABASE_URL: database.url, REDIS_URL: redis.url } })
    await waitUntil(async () => isReached(await readImport(ctx, id)), { describe, timeoutMs: 60_000 })
    worker.kill('SIGKILL')
    await worker.exited
    confirmedWhileKilled.push((await readState(ctx)).mailable.length)
    await database.pool.query(`update workers set seen_at = now() - interval '1 hour'`)
    await recoverOrphanedClaims(database.db)
  }
  await killWhen('the first pass has recorded opt-outs', ({ optedOut }) => optedOut > 0)
  expect(await readImport(ctx, id)).toMatchObject({ status: 'RUNNING', processed: 0 })
  await killWhen('the second pass has written contacts', ({ processed }) => processed > 0)
  expect((await readImport(ctx, id)).status).toBe('RUNNING')
  await killWhen('the import has ended', ({ status }) => status === 'COMPLETED')

  const { id: _, createdAt: __, startedAt: ___, completedAt: ____, listId: _____, ...counts } = undisturbed
  expect(await readImport(ctx, id)).toMatchObject(counts)
  // The last kill may have come before the worker deleted the keys of opt-outs.
  while ((await purgeImports(database.db)) > 0);
  const [state, wanted] = [await readState(ctx), await readState(expected)]
  expect(state).toEqual(wanted)
  expect(confirmedWhileKilled[0]).toBe(0)
  expect(confirmedWhileKilled[1]).toBeLessThan(wanted.mailable.length)
})

/** Who receives campaigns, and how many have which status or reason. */
async function readState({ workspaceId }: Ctx) {
  // Without statistics, PostgreSQL would plan for tables as small as before.
  await database.pool.query('analyze contacts, subscriptions, suppressions')
  const read = async (query: string) =>
    (await database.pool.query<Record<string, unknown>>(query, [uuidOf(workspaceId)])).rows
  return {
    mailable: await read(
      `select c.email from subscriptions s join contacts c on c.workspace_id = s.workspace_id and c.id = s.contact_id
       where s.workspace_id = $1 and s.status = 'CONFIRMED' order by 1`,
    ),
    subscriptions: await read(
      `select status, count(*)::int from subscriptions where workspace_id = $1 group by 1 order by 1`,
    ),
    suppressions: await read(
      `select reason, source, list_id is null as is_for_all, count(*)::int, count(contact_id)::int as linked
       from suppressions where workspace_id = $1 group by 1, 2, 3 order by 1, 3`,
    ),
    contacts: await read(
      'select email_subscribed_status, count(*)::int from contacts where workspace_id = $1 group by 1 order by 1',
    ),
    keys: await read('select count(*)::int from import_seen where workspace_id = $1'),
  }
}
