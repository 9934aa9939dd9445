import { randomUUID } from 'node:crypto'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { withRedis, createTestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ensureSchedule, openJobQueues } from './job-queues.ts'
import { openQueueBackend } from './queue-backend.ts'
import { silentLog, testWorkerConfig } from './testing.ts'

const database = useTestDatabase()
const redis = useForFile(createTestRedis)
beforeEach(() => redis.start())

const onRedis = () => testWorkerConfig({ DATABASE_URL: database.url, REDIS_URL: redis.url })
const onPostgres = () => testWorkerConfig({ DATABASE_URL: database.url })

async function open(config: ReturnType<typeof testWorkerConfig>) {
  const backend = await openQueueBackend(config, silentLog)
  const added: number[] = []
  const queues = openJobQueues(backend, (_queue, count) => void added.push(count))
  onTestFinished(async () => {
    await queues.close()
    await backend.close()
  })
  /** Runs jobs of webhooks; each ends when `finish` is called. */
  function work() {
    const runs: { id: string; finish: () => void }[] = []
    const worker = backend.openWorker(
      'webhooks',
      (job) => new Promise<void>((finish) => runs.push({ id: (job.data as WorkJob).id, finish })),
      { concurrency: 5 },
    )
    onTestFinished(async () => {
      for (const { finish } of runs) finish()
      await worker.close()
    })
    return runs
  }
  return { queues, added, work }
}

const createJob = (): WorkJob => ({ workspaceId: newId('wsp'), id: randomUUID() })

describe.each([
  ['Redis', onRedis],
  ['PostgreSQL', onPostgres],
])('with the queues in %s', (_name, config) => {
  test('a subject that waits has one job, however often it is added', async () => {
    const { queues, added, work } = await open(config())
    const [job, other] = [createJob(), createJob()]
    for (let round = 0; round < 5; round++) await queues.add('webhooks', [job, job])
    await queues.add('webhooks', [other])
    expect(await queues.queueOf('webhooks').getJobCounts('waiting')).toEqual({ waiting: 2 })
    expect(added).toEqual([2, 2, 2, 2, 2, 1])
    const runs = work()
    await waitUntil(() => runs.length === 2, { describe: 'both run' })
    for (const { finish } of runs) finish()
    await waitUntil(async () => (await queues.queueOf('webhooks').getJobCounts('active'))['active'] === 0, {
      describe: 'both are done',
    })
    expect(runs.map(({ id }) => id)).toEqual([job.id, other.id])
  })

  test('three adds while a job is active make one more run, after it', async () => {
    const { queues, work } = await open(config())
    const job = createJob()
    const runs = work()
    await queues.add('webhooks', [job])
    await waitUntil(() => runs.length === 1, { describe: 'it is active' })
    for (let round = 0; round < 3; round++) await queues.add('webhooks', [job])
    const other = createJob()
    await queues.add('webhooks', [other])
    await waitUntil(() => runs.length === 2, { describe: 'another subject is active' })
    expect(runs.map(({ id }) => id)).toEqual([job.id, other.id])
    runs[0]?.finish()
    await waitUntil(() => runs.length === 3, { describe: 'it runs again' })
    runs[2]?.finish()
    const last = createJob()
    await queues.add('webhooks', [last])
    await waitUntil(() => runs.length === 4, { describe: 'the next subject is active' })
    expect(runs.map(({ id }) => id)).toEqual([job.id, other.id, job.id, last.id])
  })

  test('a subject whose job is done, or has failed, is added again', async () => {
    const { queues } = await open(config())
    const backend = await openQueueBackend(config(), silentLog)
    let runs = 0
    const worker = backend.openWorker(
      'webhooks',
      async () => {
        runs += 1
        if (runs % 2) throw new Error('no luck')
      },
      {},
    )
    onTestFinished(async () => {
      await worker.close()
      await backend.close()
    })
    const job = createJob()
    for (let round = 1; round <= 4; round++) {
      await queues.add('webhooks', [job])
      await waitUntil(() => runs === round, { describe: `run ${round}` })
      await waitUntil(async () => (await queues.queueOf('webhooks').getJobCounts('active'))['active'] === 0, {
        describe: 'it is over',
      })
    }
  })

  test('the schedule is put once', async () => {
    const { queues } = await open(config())
    for (let round = 0; round < 3; round++) await ensureSchedule(queues)
    expect(await queues.queueOf('maintenance').getJobScheduler('purge-expired')).toMatchObject({ every: 3_600_000 })
    const { waiting = 0, delayed = 0 } = await queues.queueOf('maintenance').getJobCounts('waiting', 'delayed')
    expect(waiting + delayed).toBe(1)
  })
})

test('the schedule is put back after Redis was emptied', async () => {
  const { queues } = await open(onRedis())
  await ensureSchedule(queues)
  await redis.flush()
  expect(await queues.queueOf('maintenance').getJobScheduler('purge-expired')).toBeFalsy()
  await ensureSchedule(queues)
  expect(await queues.queueOf('maintenance').getJobScheduler('purge-expired')).toMatchObject({ every: 3_600_000 })
})

test('a subject whose job Redis has lost is added again', async () => {
  const { queues, work } = await open(onRedis())
  const job = createJob()
  await queues.add('webhooks', [job])
  await redis.flush()
  await queues.add('webhooks', [job])
  const runs = work()
  await waitUntil(() => runs.length === 1, { describe: 'it runs' })
})

test('while Redis is away an add fails, and it succeeds when Redis is back', async () => {
  const { queues, added } = await open(onRedis())
  await queues.firstConnection
  await redis.stop()
  await expect(queues.add('webhooks', [createJob()])).rejects.toThrow()
  expect(added).toEqual([])
  await redis.start()
  await waitUntil(() => queues.add('webhooks', [createJob()]).then(() => true), { describe: 'it is added' })
})

test('a Redis that is full refuses jobs, and is there all the same', async () => {
  const { queues } = await open(onRedis())
  const backend = await openQueueBackend(onRedis(), silentLog)
  onTestFinished(() => backend.close())
  await queues.add('webhooks', [createJob()])
  await withRedis(redis.url, (client) => client.config('SET', 'maxmemory', '1'))
  await expect(queues.add('webhooks', [createJob()])).rejects.toThrow(/OOM/)
  await backend.ping?.()
  await redis.stop()
})
