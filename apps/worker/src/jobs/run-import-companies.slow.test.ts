import { readImport } from '@rapport/core/imports/imports.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { countRows, queueTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { countRuns, isFullRun } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { startWorkerProcess } from '../../test/worker-processes.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createTestRedis)

const people = countRuns({ gate: 4_000, full: 100_000 })
const companies = people / 20
/** The people of a company are spread over the file, and name it by one key, the other, or both. */
const file = [
  'email,companyExternalId,companyDomain,companyName\n',
  ...Array.from({ length: people }, (_, index) => {
    const company = index % companies
    const round = Math.floor(index / companies)
    const keys = round === 0 ? 'both' : round % 2 === 0 ? 'externalId' : 'domain'
    const cells = [keys === 'domain' ? '' : `org_${company}`, keys === 'externalId' ? '' : `c${company}.example`]
    return `person${index}@example.com,${cells.join(',')},Company ${company}\n`
  }),
]

test('each person and company is imported once, although the worker is killed', async () => {
  const { id } = await queueTestImport(ctx, file, { createCompanies: 'true', events: 'each' })
  const killAt = async (share: number) => {
    const worker = await startWorkerProcess({ env: { DATABASE_URL: database.url, REDIS_URL: redis.url } })
    const isReached = async () => (await readImport(ctx, id)).processed >= people * share
    await waitUntil(isReached, { describe: `${share * 100} % of the rows are processed`, timeoutMs: 240_000 })
    worker.kill('SIGKILL')
    await worker.exited
    await database.pool.query(`update workers set seen_at = now() - interval '1 hour'`)
    await recoverOrphanedClaims(database.db)
  }
  for (const share of isFullRun ? [0.02, 0.4, 1] : [0.4, 1]) await killAt(share)
  expect(await readImport(ctx, id)).toMatchObject({ processed: people, created: people, failed: 0, errors: [] })
  expect([await countRows(ctx, 'contacts'), await countRows(ctx, 'companies')]).toEqual([people, companies])
  const counted = await database.pool.query(
    `select count(*)::int as people, c.name = max(p.company) and c.name = min(p.company) as is_copied
     from contacts p join companies c on c.workspace_id = p.workspace_id and c.id = p.company_id
     where p.workspace_id = $1 group by c.id, c.name`,
    [uuidOf(ctx.workspaceId)],
  )
  expect(counted.rows).toEqual(Array.from({ length: companies }, () => ({ people: 20, is_copied: true })))
  const events = await database.pool.query(
    `select type, count(distinct data ->> 'id')::int as count, count(*)::int as total from events
     where workspace_id = $1 and type like '%.created' group by type order by type`,
    [uuidOf(ctx.workspaceId)],
  )
  expect(events.rows).toEqual([
    { type: 'company.created', count: companies, total: companies },
    { type: 'contact.created', count: people, total: people },
  ])
})
