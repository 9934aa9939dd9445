/** The kinds of work: everything that waits in the table `work`. */
import { sql } from 'drizzle-orm'
import { type WorkKind, workKinds } from '../db/schema/index.ts'
import { isAmongStoppedWorkspaces } from '../request/workspace-state.ts'
import type { QueueName, WorkJob } from './queues.ts'

export { type WorkKind, workKinds }

interface KindOfWork {
  queue: QueueName
  /** The name of its jobs in the dashboard. */
  title: string
  /** How often the queue runs a job that fails. */
  attempts: number
  /** The maximum number of published jobs per workspace. The rest waits, so that workspaces take turns. */
  published: number
  /** Whether it is done while the workspace is suspended or deleted. */
  passesSuspension: boolean
}

const clearing = { queue: 'maintenance', attempts: 5, published: 20, passesSuspension: true } as const

export const kindsOfWork: Readonly<Record<WorkKind, KindOfWork>> = {
  /** The mails that users need for their accounts: password resets and verifications of addresses. */
  ACCOUNT_MAIL: { queue: 'mail', title: 'send account mail', attempts: 5, published: 100, passesSuspension: true },
  MAIL: { queue: 'mail', title: 'send mail', attempts: 5, published: 100, passesSuspension: false },
  /** An email from a template to one person. A job takes those along that are not published. */
  EMAIL: { queue: 'mail', title: 'send email', attempts: 5, published: 5, passesSuspension: false },
  CAMPAIGN_BATCH: {
    queue: 'campaigns',
    title: 'send campaign batch',
    attempts: 10,
    published: 20,
    passesSuspension: false,
  },
  IMPORT: { queue: 'imports', title: 'run import', attempts: 10, published: 4, passesSuspension: false },
  CLEAR_LIST: { ...clearing, title: 'clear deleted list' },
  /** One at a time: several would lock the same contacts. */
  CLEAR_CUSTOM_FIELD: { ...clearing, title: 'clear deleted custom field', published: 1 },
  RELEASE_COMPANY: { ...clearing, title: 'release contacts of deleted company' },
  ERASE_CONTACT: { ...clearing, title: 'erase deleted contact' },
  CLEAR_WORKSPACE: { ...clearing, title: 'clear deleted workspace' },
  /** The deliveries of all webhooks of a workspace. Its job needs no row: `findBacklogs` finds what is PENDING. */
  DRAIN: { queue: 'webhooks', title: 'drain webhooks', attempts: 1, published: 0, passesSuspension: false },
  /** Releases the mails that visitors asked for. Its job needs no row: `findWaitingWorkspaces` finds what waits. */
  VISITOR_MAILS: { queue: 'mail', title: 'release visitor mails', attempts: 1, published: 0, passesSuspension: false },
}

/** The queue of a job. */
export const queueOfJob = ({ kind }: Pick<WorkJob, 'kind'>): QueueName => kindsOfWork[kind].queue

/** The kinds that are done while their workspace is suspended, as a parameter. */
export const passingSuspension = sql`${sql.param(workKinds.filter((kind) => kindsOfWork[kind].passesSuspension))}::text[]`

/** A condition: a drain is not work of its own, its deliveries are. */
export const isNoDrain = sql`kind is distinct from 'DRAIN'`

/**
 * A condition on a row of `work`: it is neither delayed nor parked. `due_at` is rounded; so is `now()`, or what this
 * transaction enqueued would not be due.
 */
export const isDue = sql`due_at <= now()::timestamp(3) with time zone`

/** A condition on a row of `work`: it waits until its workspace is resumed, or is deleted with it. */
export const waitsForResume = sql`kind <> all(${passingSuspension}) and ${isAmongStoppedWorkspaces}`

/**
 * A condition on a row of `work`: if it is old, something is stuck. An email to one person may wait for hours after a
 * temporary refusal, or for its template: `waiting-emails.ts` has its age.
 */
export const isStuckIfOld = sql`kind <> 'EMAIL' and not (${waitsForResume})`
