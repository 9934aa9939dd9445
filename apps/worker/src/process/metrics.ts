import type { EmailOutcome } from '@rapport/core/emails/record-emails.ts'
import { createCounter, createDurationHistogram, createRegistry } from '@rapport/core/runtime/metrics.ts'
import { createPublishedCounter } from '@rapport/core/work/published-counter.ts'
import { allMailKinds, type AnyMailKind, type MailOutcome, mayPassLater } from '@rapport/core/mail/mails.ts'
import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'
import type { InterruptedCounts } from '@rapport/core/operations/recovery/recover-claims.ts'
import type { MailSource } from '../smtp/connection-slots.ts'
import type { LateCheck, MailTransport } from '../smtp/mail-transport.ts'

/** Why a mail to a return path was ignored: for its lines, headers and parts, or for the time or memory that reading it takes. */
const ignoredReasons = ['structure', 'effort'] as const
export type IgnoredReason = (typeof ignoredReasons)[number]

const mailOutcomes = ['sent', 'deferred', 'refused', 'withdrawn', 'unknown', 'interrupted'] as const
type MailOutcomeLabel = (typeof mailOutcomes)[number]

export type WorkerMetrics = ReturnType<typeof createWorkerMetrics>

/** The metrics that the worker records even if WORKER_PORT is not set. */
export function createWorkerMetrics() {
  const registry = createRegistry()
  const deliveries = createCounter(registry, {
    name: 'deliveries_total',
    help: 'Webhook deliveries by outcome',
    labelNames: ['outcome'],
  })
  const mails = createCounter(registry, {
    name: 'mails_total',
    help: 'Mails sent to the mail server by kind and outcome',
    labelNames: ['kind', 'outcome'],
  })
  const ignoredBounces = createCounter(registry, {
    name: 'bounce_mails_ignored_total',
    help: 'Mails to return paths that were accepted and ignored, because reading them exceeds a limit',
    labelNames: ['reason'],
  })
  for (const reason of ignoredReasons) ignoredBounces.inc({ reason }, 0)
  // A counter that starts at zero makes the first increment visible to Prometheus.
  for (const outcome of ['succeeded', 'failed', 'interrupted']) deliveries.inc({ outcome }, 0)
  for (const kind of allMailKinds) {
    for (const outcome of mailOutcomes) mails.inc({ kind, outcome }, 0)
  }
  return {
    registry,
    deliveries,
    deliverySeconds: createDurationHistogram(registry, {
      name: 'delivery_duration_seconds',
      help: 'Response time of webhook receivers',
    }),
    mails,
    ignoredBounces,
    jobSeconds: createDurationHistogram(registry, {
      name: 'job_duration_seconds',
      help: 'Job duration by outcome',
      labelNames: ['queue', 'outcome'],
    }),
    published: createPublishedCounter(registry),
    countInterrupted: (interrupted: InterruptedCounts) => {
      deliveries.inc({ outcome: 'interrupted' }, interrupted.deliveries)
      for (const [kind, count] of Object.entries(interrupted.mails)) mails.inc({ kind, outcome: 'interrupted' }, count)
    },
  }
}

/** What a mail is. The emails of a workspace share connections. */
type MailIdentity = { kind: Exclude<AnyMailKind, 'EMAIL'> } | { kind: 'EMAIL'; workspaceId: WorkspaceId }

export interface CountedMailTransport {
  send<Refused = never>(
    mail: Parameters<MailTransport['send']>[0],
    identity: MailIdentity,
    check?: LateCheck<Refused>,
  ): Promise<MailOutcome | Refused>
  close(): void
}

/** Counts the mails of a transport. */
export function withMailMetrics(transport: MailTransport, { mails }: WorkerMetrics): CountedMailTransport {
  return {
    async send(mail, identity, check) {
      const outcome = await transport.send(mail, check, sourceOf(identity))
      mails.inc({ kind: identity.kind, outcome: toOutcomeLabel(outcome as EmailOutcome, identity.kind) })
      return outcome
    },
    close: () => transport.close(),
  }
}

function sourceOf(identity: MailIdentity): MailSource {
  if (identity.kind === 'EMAIL') return identity.workspaceId
  return identity.kind === 'CAMPAIGN' ? 'campaign' : 'single'
}

/** What a `LateCheck` returns may have no kind. A campaign pauses after a refusal that a single mail waits for. */
function toOutcomeLabel(outcome: EmailOutcome, mailKind: AnyMailKind): MailOutcomeLabel {
  if (outcome.kind === 'refused') {
    const isDeferred = mailKind === 'CAMPAIGN' ? outcome.temporary : mayPassLater(outcome)
    return isDeferred ? 'deferred' : 'refused'
  }
  if (outcome.kind === 'ambiguous') return 'unknown'
  return outcome.kind === 'sent' ? 'sent' : 'withdrawn'
}
