/** Checks that workers are alive, that work gets done, and that receivers take it. */
import { type QueueState, readWorkSummary } from '@rapport/core/operations/overviews/work-summary.ts'
import { countFailingWebhooks } from '@rapport/core/webhooks/health/failing-webhooks.ts'
import { listWorkers } from '@rapport/core/work/worker-registry.ts'
import { formatAge, formatCount } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

const [lateSeconds, veryLateSeconds, longSeconds] = [60, 600, 3_600]

export const workersCheck: Check = {
  about: 'Workers',
  async run({ database }) {
    if (!database) return []
    const { ok, warn, fail } = findingsAbout('Workers')
    const workers = await listWorkers(database.db)
    const [alive, silent] = [true, false].map((isAlive) => workers.filter((worker) => worker.isAlive === isAlive))
    const hosts = [...new Set(alive?.map(({ host }) => host))].join(', ')
    if (!alive?.length)
      return [fail('no worker is alive: no emails and webhooks are sent', 'Start one with "rapport worker".')]
    return [
      ok(`${alive.length} alive, on ${hosts}`),
      ...(silent ?? []).map(({ host, seenSecondsAgo }) =>
        warn(
          `the last heartbeat of a worker on ${host} was ${formatAge(seenSecondsAgo)} ago`,
          'It crashed or hangs. Another worker recovers its claims.',
        ),
      ),
    ]
  },
}

export const workCheck: Check = {
  about: 'Work',
  async run({ database }) {
    if (!database) return []
    const { ok, warn, fail } = findingsAbout('Work')
    const { queues, workLagSeconds: lag } = await readWorkSummary(database.db)
    const remedy = 'No worker can reach the queue. Check the log of the worker, and Redis.'
    const findings = [
      ...(lag !== null && lag > lateSeconds
        ? [(lag > veryLateSeconds ? fail : warn)(`work has waited ${formatAge(lag)} for a worker`, remedy)]
        : []),
      ...queues
        .filter(isOld)
        .map(({ queue, oldestSeconds }) =>
          warn(
            `queue ${queue}: the oldest work is ${formatAge(oldestSeconds ?? 0)} old`,
            'Check "rapport queue" and the failed jobs on the queue dashboard.',
          ),
        ),
    ]
    const unfinished = queues.reduce((sum, { waiting, published }) => sum + waiting + published, 0)
    return findings.length > 0 ? findings : [ok(`${formatCount(unfinished)} unfinished, none overdue`)]
  },
}

/** A campaign may take a day, depending on its size and MAIL_RATE. */
function isOld({ queue, oldestSeconds }: QueueState): boolean {
  return queue !== 'campaigns' && (oldestSeconds ?? 0) > longSeconds
}

export const webhooksCheck: Check = {
  about: 'Webhooks',
  async run({ database }) {
    if (!database) return []
    const { ok, warn } = findingsAbout('Webhooks')
    const count = await countFailingWebhooks(database.db)
    if (count === 0) return [ok('none has failed for an hour')]
    const message = `${formatCount(count)} ${count === 1 ? 'has' : 'have'} failed for an hour or longer`
    return [warn(message, '"rapport webhook failing" lists them, with the reason.')]
  },
}
