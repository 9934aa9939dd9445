import { sql } from 'drizzle-orm'
import { boolean, index, integer, text, uuid } from 'drizzle-orm/pg-core'
import { moment, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { lists } from './lists.ts'

export const campaignStatuses = ['DRAFT', 'SENDING', 'PAUSED', 'SENT', 'CANCELED'] as const

export const campaigns = tenantTable(
  'campaigns',
  {
    id: id('cmp').notNull(),
    /** Emptied when the list is deleted: the migration names the column, which drizzle cannot. */
    listId: id('lst'),
    name: text().notNull(),
    subject: text().notNull(),
    status: text({ enum: campaignStatuses }).notNull().default('DRAFT'),
    html: text(),
    text: text(),
    fromName: text(),
    fromEmail: text(),
    replyTo: text(),
    trackOpens: boolean().notNull().default(false),
    trackClicks: boolean().notNull().default(false),
    queued: integer().notNull().default(0),
    /** Why the system paused it; null when a person did. */
    pauseReason: text(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    sentAt: moment(),
    completedAt: moment(),
  },
  {
    key: ['id'],
    references: { listId: lists },
    extra: (t) => [
      index('campaigns_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('campaigns_list_index').on(t.workspaceId, t.listId),
      oneOf('campaigns_status_check', t.status, campaignStatuses),
    ],
  },
)

export const batchStatuses = ['PENDING', 'SENDING', 'DONE'] as const

/** A slice of a campaign's audience, frozen at `send`. One job each. */
export const campaignBatches = tenantTable(
  'campaign_batches',
  {
    id: id('bat').notNull(),
    campaignId: id('cmp').notNull(),
    /** No foreign key can watch an array: a contact that has gone meanwhile is skipped when its turn comes. */
    contactIds: uuid().array().notNull(),
    status: text({ enum: batchStatuses }).notNull().default('PENDING'),
    /** The worker that has it in hand while SENDING. */
    workerId: uuid(),
    /** How many of its people are in each final status: changed in the statement that changes them, see `updateRecipientCounters`. */
    sent: integer().notNull().default(0),
    failed: integer().notNull().default(0),
    skipped: integer().notNull().default(0),
    interrupted: integer().notNull().default(0),
    /** How many did so at least once. */
    opened: integer().notNull().default(0),
    clicked: integer().notNull().default(0),
    unsubscribed: integer().notNull().default(0),
    bounced: integer().notNull().default(0),
    complained: integer().notNull().default(0),
  },
  {
    key: ['id'],
    ownedBy: { campaignId: campaigns },
    extra: (t) => [
      index('campaign_batches_campaign_index').on(t.workspaceId, t.campaignId),
      index('campaign_batches_open_index').on(t.workspaceId, t.campaignId, t.id).where(sql`${t.status} <> 'DONE'`),
      index('campaign_batches_worker_index').on(t.workerId).where(sql`${t.status} = 'SENDING'`),
      oneOf('campaign_batches_status_check', t.status, batchStatuses),
    ],
  },
)

export const recipientStatuses = ['SENDING', 'WAITING', 'SENT', 'FAILED', 'SKIPPED', 'INTERRUPTED'] as const

/**
 * One row for each person whose turn has come; whoever inserts it, and nobody else ever, may send to them. Who has no
 * row yet is pending, as is one WAITING for another try after a refusal that was surely none but temporary.
 * Rows outlive their contact, so that a campaign's sums stay true.
 */
export const campaignRecipients = tenantTable(
  'campaign_recipients',
  {
    campaignId: id('cmp').notNull(),
    contactId: id('con').notNull(),
    batchId: id('bat').notNull(),
    status: text({ enum: recipientStatuses }).notNull(),
    attempts: integer().notNull().default(1),
    workerId: uuid(),
    error: text(),
    createdAt: createdAt(),
    settledAt: moment(),
    /** The first time each. */
    openedAt: moment(),
    clickedAt: moment(),
    unsubscribedAt: moment(),
    bouncedAt: moment(),
    complainedAt: moment(),
  },
  {
    key: ['campaignId', 'contactId'],
    ownedBy: { campaignId: campaigns },
    extra: (t) => [
      index('campaign_recipients_batch_index').on(t.workspaceId, t.batchId),
      index('campaign_recipients_created_index').on(t.workspaceId, t.campaignId, t.createdAt, t.contactId),
      index('campaign_recipients_status_index').on(t.workspaceId, t.campaignId, t.status, t.createdAt, t.contactId),
      index('campaign_recipients_worker_index').on(t.workerId).where(sql`${t.status} = 'SENDING'`),
      oneOf('campaign_recipients_status_check', t.status, recipientStatuses),
    ],
  },
)
