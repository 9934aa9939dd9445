import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import { readWorkSummary, type WorkSummary } from '@rapport/core/operations/overviews/work-summary.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, flag, jsonFlag } from '../command.ts'
import { withDatabase } from '../database.ts'
import { formatAge, formatCount, formatTable, type Terminal } from '../terminal.ts'

const refreshMs = 2_000

export const queue = defineCommand({
  options: z.strictObject({
    watch: z.boolean().default(false).meta(flag('Refreshes every two seconds until Ctrl-C')),
    json: jsonFlag('Prints JSON, one line per refresh'),
  }),
  notes: [
    'Reads PostgreSQL, which records all work until it is done, so it also works while Redis is unavailable.',
    '',
    '  waiting    has no job in the queue yet; deliveries wait until the job of their webhook takes them',
    '  published  has a job in the queue',
    '  active     is claimed by a worker',
    '  failed     failed in the last hour; for campaigns, failed recipients of those running or sent in the last hour',
    '  oldest     age of the oldest unfinished work',
    '',
    'The work lag is the time for which the oldest work has waited for a worker, although a job could do it. Several',
    'seconds mean that no worker can reach the queue.',
  ].join('\n'),
  run: (cli, { watch, json }) =>
    withDatabase(cli, async ({ db }) => {
      const { terminal, stopping } = cli
      async function show() {
        const summary = await readWorkSummary(db)
        if (json) terminal.print(JSON.stringify(summary))
        else if (watch) terminal.redraw(format(summary, terminal))
        else terminal.print(format(summary, terminal))
      }
      await show()
      if (!watch) return exitCodes.success
      for (;;) {
        await sleep(refreshMs, undefined, { signal: stopping }).catch(() => {})
        if (stopping.aborted) return exitCodes.success
        await show().catch((error: unknown) => {
          if (!isDatabaseUnavailable(error)) throw error
          terminal.log('PostgreSQL is unavailable. Retrying ...')
        })
      }
    }),
})

function format(summary: WorkSummary, terminal: Terminal): string {
  const title = (text: string) => terminal.style('bold', text)
  const queues = summary.queues.map(({ queue, waiting, published, active, failed, oldestSeconds }) => [
    queue,
    ...[waiting, published, active, failed].map((count) => (typeof count === 'number' ? formatCount(count) : '–')),
    oldestSeconds === null ? '–' : formatAge(oldestSeconds),
  ])
  return [
    formatTable([['queue', 'waiting', 'published', 'active', 'failed', 'oldest'], ...queues]),
    '',
    `${title('Work lag')}    ${summary.workLagSeconds === null ? 'none' : formatAge(summary.workLagSeconds)}`,
    `${title('Workers')}     ${formatWorkers(summary)}`,
    `${title('Deliveries')}  ${formatCounts(summary.deliveries)} (of the last hour's events)`,
    `${title('Campaigns')}   ${formatCounts(summary.campaigns)}`,
    ...summary.campaignsUnderWay.map(
      ({ id, name, status, queued, pending, pauseReason }) =>
        `  ${id} ${status} ${formatCount(queued - pending)} of ${formatCount(queued)} "${name}"` +
        (pauseReason === null ? '' : `: ${pauseReason}`),
    ),
  ].join('\n')
}

function formatWorkers({ workers }: WorkSummary): string {
  const alive = workers.filter(({ isAlive }) => isAlive).map(({ host }) => host)
  const silent = workers.length - alive.length
  const hosts = [...Map.groupBy(alive, (host) => host)].map(([host, all]) => `${all.length} on ${host}`)
  return [hosts.join(', ') || 'none', ...(silent > 0 ? [`${silent} without heartbeat`] : [])].join(', ')
}

function formatCounts(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([status, count]) => `${formatCount(count)} ${status}`)
    .join(', ')
}
