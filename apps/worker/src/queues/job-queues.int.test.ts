import { randomUUID } from 'node:crypto'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { findTraces } from '@rapport/core/operations/contacts/find-traces.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createTestRedis, withRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openJobQueues } from '@rapport/core/work/job-queues.ts'
import { ensureSchedule } from './maintenance-schedule.ts'
import { openQueueBackend } from './queue-backend.ts'
import { defaultTimings } from '../process/worker-timings.ts'
import { shortTimings, silentLog, testWorkerConfig } from '../../test/fixtures.ts'

/** A busy machine may take longer than the short timeout to add jobs. */
const timings = { ...shortTimings, addTimeoutMs: defaultTimings.addTimeoutMs }
const database = useTestDatabase()
const redis = useForFile(createTestRedis)

const onRedis = () => testWorkerConfig({ DATABASE_URL: database.url, REDIS_URL: redis.url })
const onPostgres = () => testWorkerConfig({ DATABASE_URL: database.url })

async function openQueues(config: ReturnType<typeof testWorkerConfig>) {
  const backend = await openQueueBackend(config, { log: silentLog, timings })
  const added: number[] = []
  const queues = openJobQueues(backend, { timings, onAdd: (_queue, count) => void added.push(count) })
  onTestFinished(async () => {
    await queues.close()
    await backend.close()
  })
  /** Starts a worker whose jobs end when `finish` is called. */
  function startWorker() {
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
  return { queues, added, startWorker }
}

const createJob = (): WorkJob => ({ workspaceId: newId('wsp'), kind: 'MAIL', id: randomUUID() })

describe.each([
  ['Redis', onRedis],
  ['PostgreSQL', onPostgres],
])('with the queues in %s', (_name, config) => {
  test('adds one job for a record whose job is waiting', async () => {
    const { queues, added, startWorker } = await openQueues(config())
    const [job, other] = [createJob(), createJob()]
    for (let round = 0; round < 5; round++) await queues.add('webhooks', [job, job])
    await queues.add('webhooks', [other])
    expect(await queues.queueOf('webhooks').getJobCounts('waiting')).toEqual({ waiting: 2 })
    expect(added).toEqual([2, 2, 2, 2, 2, 1])
    const runs = startWorker()
    await waitUntil(() => runs.length === 2, { describe: 'both jobs are active' })
    for (const { finish } of runs) finish()
    await waitUntil(async () => (await queues.queueOf('webhooks').getJobCounts('active'))['active'] === 0, {
      describe: 'both jobs are completed',
    })
    expect(runs.map(({ id }) => id)).toEqual([job.id, other.id])
  })

  test('runs one more job after an active one, however often it is added meanwhile', async () => {
    const { queues, startWorker } = await openQueues(config())
    const job = createJob()
    const runs = startWorker()
    await queues.add('webhooks', [job])
    await waitUntil(() => runs.length === 1, { describe: 'the job is active' })
    for (let round = 0; round < 3; round++) await queues.add('webhooks', [job])
    const other = createJob()
    await queues.add('webhooks', [other])
    await waitUntil(() => runs.length === 2, { describe: 'the job of another record is active' })
    expect(runs.map(({ id }) => id)).toEqual([job.id, other.id])
    runs[0]?.finish()
    await waitUntil(() => runs.length === 3, { describe: 'the job runs again' })
    runs[2]?.finish()
    const last = createJob()
    await queues.add('webhooks', [last])
    await waitUntil(() => runs.length === 4, { describe: 'the last job is active' })
    expect(runs.map(({ id }) => id)).toEqual([job.id, other.id, job.id, last.id])
  })

  test('adds a new job for a record whose job is completed or failed', async () => {
    const { queues } = await openQueues(config())
    const backend = await openQueueBackend(config(), { log: silentLog, timings })
    let runs = 0
    const worker = backend.openWorker(
      'webhooks',
      async () => {
        runs += 1
        if (runs % 2) throw new Error('failed')
      },
      {},
    )
    onTestFinished(async () => {
      await worker.close()
      await backend.close()
    })
    // The queue runs it once: a retry could come between two rounds.
    const job: WorkJob = { ...createJob(), kind: 'DRAIN' }
    for (let round = 1; round <= 4; round++) {
      await queues.add('webhooks', [job])
      await waitUntil(() => runs === round, { describe: `run ${round}` })
      await waitUntil(async () => (await queues.queueOf('webhooks').getJobCounts('active'))['active'] === 0, {
        describe: 'the job has ended',
      })
    }
  })

  test('keeps ended jobs for the dashboard, but not those of an erasure', async () => {
    const { queues } = await openQueues(config())
    const backend = await openQueueBackend(config(), { log: silentLog, timings })
    const ended: string[] = []
    const worker = backend.openWorker('maintenance', async (job) => void ended.push((job.data as WorkJob).id), {})
    onTestFinished(async () => {
      await worker.close()
      await backend.close()
    })
    const erasure: WorkJob = { ...createJob(), kind: 'ERASE_CONTACT' }
    const clearing: WorkJob = { ...createJob(), kind: 'CLEAR_LIST' }
    await queues.add('maintenance', [erasure, clearing])
    const queue = queues.queueOf('maintenance')
    const idsOf = async (state: 'completed' | 'active') =>
      (await queue.getJobs([state])).map(({ data }) => (data as WorkJob).id).filter((id) => ended.includes(id))
    await waitUntil(async () => (await idsOf('completed')).includes(clearing.id), {
      describe: 'the clearing has ended',
    })
    await waitUntil(async () => ended.includes(erasure.id) && (await idsOf('active')).length === 0, {
      describe: 'the erasure has ended',
    })
    expect(await idsOf('completed')).toEqual([clearing.id])
  })

  test('creates the schedule once', async () => {
    const { queues } = await openQueues(config())
    for (let round = 0; round < 3; round++) await ensureSchedule(queues)
    expect(await queues.queueOf('maintenance').getJobScheduler('purge-expired')).toMatchObject({ every: 3_600_000 })
    const { waiting = 0, delayed = 0 } = await queues.queueOf('maintenance').getJobCounts('waiting', 'delayed')
    expect(waiting + delayed).toBe(1)
  })
})

test('the search for what is left of a person finds a job in PostgreSQL', async () => {
  const { queues } = await openQueues(onPostgres())
  const job: WorkJob = { ...createJob(), kind: 'ERASE_CONTACT' }
  expect((await findTraces(database.url, [job.id])).traces).toEqual([])
  await queues.add('maintenance', [job])
  const { traces } = await findTraces(database.url, [job.id])
  expect(traces.map(({ table }) => table)).toContain('bullmq.job')
})

test('creates the schedule again after Redis is flushed', async () => {
  const { queues } = await openQueues(onRedis())
  await ensureSchedule(queues)
  await redis.flush()
  expect(await queues.queueOf('maintenance').getJobScheduler('purge-expired')).toBeFalsy()
  await ensureSchedule(queues)
  expect(await queues.queueOf('maintenance').getJobScheduler('purge-expired')).toMatchObject({ every: 3_600_000 })
})

test('adds a new job for a record whose job was lost by Redis', async () => {
  const { queues, startWorker } = await openQueues(onRedis())
  const job = createJob()
  await queues.add('webhooks', [job])
  await redis.flush()
  await queues.add('webhooks', [job])
  const runs = startWorker()
  await waitUntil(() => runs.length === 1, { describe: 'the job is active' })
})

test('adding a job fails when Redis is out of memory, while ping succeeds', async () => {
  const { queues } = await openQueues(onRedis())
  const backend = await openQueueBackend(onRedis(), { log: silentLog, timings })
  onTestFinished(() => backend.close())
  await queues.add('webhooks', [createJob()])
  await withRedis(redis.url, (client) => client.config('SET', 'maxmemory', '1'))
  await expect(queues.add('webhooks', [createJob()])).rejects.toThrow(/OOM/)
  await backend.ping?.()
  await withRedis(redis.url, (client) => client.config('SET', 'maxmemory', '0'))
})
