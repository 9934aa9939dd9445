/**
 * Unfinished work: what the worker still has to do. One row per subject: a mail, an import, a batch of a campaign, a
 * deleted record. See `work/claims.ts`.
 *
 * Deliveries have none: their PENDING rows are the queue. While a job drains the webhooks of a workspace, the workspace
 * has one row of the kind DRAIN, which the claim inserts and its end deletes. See `webhooks/drain/drain-claim.ts`.
 *
 * Mails that visitors asked for have none until the budget of the workspace counts them (`mail/budget`). The job that
 * releases them, VISITOR_MAILS, has none at all: its transaction is all that it does.
 *
 * | work      | from      | when                                                                                  |
 * |-----------|-----------|---------------------------------------------------------------------------------------|
 * | waiting   |           | enqueued in the transaction of the change that causes it                              |
 * |           | claimed   | released: shutdown, end of a turn, crash (`publishedAt` is null: by the next poll)    |
 * | published |           | enqueued by a process with a publisher, which adds the job after the commit           |
 * |           | claimed   | released by such a process                                                            |
 * |           | waiting   | the poll added a job to the queue at `publishedAt`; again after ten seconds           |
 * |           | claimed   | released after an error: the queue runs the job again after a pause                   |
 * | delayed   | any above | it cannot be claimed, or its campaign is paused: `dueAt` is in the future             |
 * |           | claimed   | its email was refused for now                                                         |
 * | parked    | any above | its template is paused: `dueAt` is null, until it is requeued                         |
 * | waiting   | delayed   | `dueAt` has come, or it was requeued                                                  |
 * | claimed   | any above | a job has written its `token`                                                         |
 * | (no row)  | claimed   | finished, in the transaction that records the outcome                                 |
 */
import { sql } from 'drizzle-orm'
import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, id, oneOf } from './columns.ts'
import { workspaces } from './workspaces.ts'

export const workKinds = [
  'ACCOUNT_MAIL',
  'MAIL',
  'EMAIL',
  'CAMPAIGN_BATCH',
  'IMPORT',
  'CLEAR_LIST',
  'CLEAR_CUSTOM_FIELD',
  'RELEASE_COMPANY',
  'ERASE_CONTACT',
  'CLEAR_WORKSPACE',
  'DRAIN',
  'VISITOR_MAILS',
] as const
export type WorkKind = (typeof workKinds)[number]

export const work = pgTable(
  'work',
  {
    /** The UUID of the subject. */
    id: uuid().notNull(),
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    kind: text({ enum: workKinds }).notNull(),
    /** When a job was last added to the queue; null: never, or not since it was delayed, requeued or released. */
    publishedAt: timestamptz(),
    /** Its creation, or the end of its delay. Work is published from then on, in this order. Null: it is parked. */
    dueAt: timestamptz().default(sql`now()`),
    /** The claim: all three are null, or none is. */
    token: uuid(),
    workerId: uuid(),
    claimedAt: timestamptz(),
    /** Of a drain: the deliveries that may be out. They become INTERRUPTED if the worker crashes. */
    inFlight: uuid().array().notNull().default([]),
    /** The request that caused this work, for logs and traces. */
    requestId: text(),
    traceparent: text(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    index('work_publishing_index').on(t.kind, t.workspaceId, t.dueAt, t.id),
    // The token is in no index, so that a renewed claim costs little.
    index('work_claims_index').on(t.workerId).where(sql`${t.workerId} is not null`),
    oneOf('work_kind_check', t.kind, workKinds),
  ],
)

/** The registered workers. A worker without a recent heartbeat has crashed, and its claims are recovered. */
export const workers = pgTable('workers', {
  id: uuid().primaryKey(),
  host: text().notNull(),
  startedAt: createdAt(),
  seenAt: createdAt(),
  /** The clock of the worker at its heartbeat; null from a release that does not record it. */
  clockAt: timestamptz(),
})
