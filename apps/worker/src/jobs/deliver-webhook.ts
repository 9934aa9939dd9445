import { idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import { requeueWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { abandonDelivery } from '@rapport/core/webhooks/abandoned-deliveries.ts'
import { type ClaimedDelivery, signatureHeaders, undoDeliveryClaim } from '@rapport/core/webhooks/deliveries.ts'
import { type DeliveryOutcome, type NextDelivery } from '@rapport/core/webhooks/settlement.ts'
import type { HttpOutcome } from '../webhook-delivery/outbound-http.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { claimOrRelease, type WorkerDeps, traced, runExclusively } from '../worker-deps.ts'

/** For how long a job goes on with what waits behind its delivery, before others have their turn. */
const turnMs = 1_000

/**
 * Makes the one attempt of a delivery, if nobody has made it yet, and records how it ended; then, for a while, of those
 * that wait in its lane. So a backlog takes no way through the queue for each, and nobody is kept waiting for its end.
 */
export async function deliverWebhook(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const endsAt = performance.now() + turnMs
  const goesOn = () => performance.now() < endsAt && !deps.stopping.aborted
  let next = await inTurn(deps, job, async (job) => {
    const delivery = await claimOrRelease(
      () => deps.deliveries.claim(job),
      () => undoDeliveryClaim(deps.db, deps.workerId, job),
    )
    if (delivery) return deliverClaimed(deps, { job, delivery }, goesOn)
    await abandonDelivery(deps.db, job)
  })
  while (next) {
    const { job, delivery } = next
    const hasCompany = deps.activeJobs.has(job.id)
    next = await inTurn(deps, job, async (job) => {
      if (!hasCompany) return deliverClaimed(deps, { job, delivery }, goesOn)
      // A job of the same delivery was in hand, and may have given this claim up for its own.
      await retryWhileDatabaseDown(() => undoDeliveryClaim(deps.db, deps.workerId, job))
      await retryWhileDatabaseDown(() => requeueWork(deps.db, [job.id]))
    })
  }
}

/** `work` has the delivery in hand, under a span of its own. */
async function inTurn(
  deps: WorkerDeps,
  job: WorkJob,
  work: (job: WorkJob) => Promise<NextDelivery | undefined>,
): Promise<NextDelivery | undefined> {
  let next: NextDelivery | undefined
  await runExclusively(deps, job.id, async () => {
    next = await traced(deps, { queue: 'webhooks', job }, work)
  })
  return next
}

/** Answers what was claimed in the same lane to come next. */
async function deliverClaimed(
  deps: WorkerDeps,
  { job, delivery }: NextDelivery,
  goesOn: () => boolean,
): Promise<NextDelivery | undefined> {
  const { id, workspaceId, requestId } = job
  const outcome = toOutcome(await attempt(deps, delivery, job))
  deps.metrics.deliveries.inc({ outcome: outcome.status === 'SUCCEEDED' ? 'succeeded' : 'failed' })
  deps.metrics.deliverySeconds.observe(outcome.durationMs / 1_000)
  const { status, durationMs, responseStatus, error } = outcome
  const said = { requestId, deliveryId: idOf('dlv', id), eventId: delivery.eventId, responseStatus, durationMs }
  if (status === 'SUCCEEDED') deps.log.debug(said, 'a delivery succeeded')
  else deps.log.info({ ...said, reason: error }, 'a delivery failed')
  const isQuick = deps.quickLanes.note(uuidOf(delivery.webhookId), responseStatus === null ? null : durationMs)
  return deps.deliveries.settle({ id, workspaceId, outcome, goesOn: goesOn(), isQuick })
}

async function attempt(
  deps: WorkerDeps,
  delivery: ClaimedDelivery,
  { traceparent, requestId }: WorkJob,
): Promise<HttpOutcome> {
  const { host } = new URL(delivery.url)
  const span = deps.tracer?.start('POST', {
    kind: 'client',
    parent: traceparent,
    attributes: { 'http.request.method': 'POST', 'server.address': host },
  })
  const outcome = await post(deps, delivery, span ? { traceparent: span.traceparent } : {}).catch((error: unknown) => {
    deps.log.error({ err: error, requestId, deliveryId: delivery.uuid }, 'a delivery could not be signed')
    return { status: null, body: null, durationMs: 0, error: 'The delivery could not be signed' }
  })
  const attributes = outcome.status === null ? {} : { 'http.response.status_code': outcome.status }
  span?.end({ hasFailed: outcome.error !== null, attributes })
  return outcome
}

async function post({ http, settings }: WorkerDeps, delivery: ClaimedDelivery, trace: Record<string, string>) {
  const headers = { ...signatureHeaders(settings, delivery), ...trace }
  return http.post(delivery.url, { headers, body: delivery.body })
}

function toOutcome({ status, body, error, durationMs }: HttpOutcome): DeliveryOutcome {
  return {
    status: error === null ? 'SUCCEEDED' : 'FAILED',
    durationMs,
    responseStatus: status,
    responseBody: body,
    error,
  }
}
