import { boolean, index, text } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { contacts } from './contacts.ts'
import { lists } from './lists.ts'

export const subscriptionStatuses = ['PENDING', 'CONFIRMED', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] as const

export const subscriptions = tenantTable(
  'subscriptions',
  {
    listId: id('lst').notNull(),
    contactId: id('con').notNull(),
    status: text({ enum: subscriptionStatuses }).notNull(),
    source: text(),
    /** When the last three confirmation emails were requested, newest first. */
    confirmationsRequestedAt: timestamptz().array().notNull().default([]),
    confirmedAt: timestamptz(),
    unsubscribedAt: timestamptz(),
    /** Whether an UNSUBSCRIBED contact was removed by the operator and has not opted out itself. */
    isRemoved: boolean().notNull().default(false),
    createdAt: createdAt(),
  },
  {
    key: ['listId', 'contactId'],
    ownedBy: { listId: lists, contactId: contacts },
    extra: (t) => [
      index('subscriptions_contact_index').on(t.workspaceId, t.contactId),
      index('subscriptions_created_index').on(t.workspaceId, t.listId, t.createdAt, t.contactId),
      index('subscriptions_status_index').on(t.workspaceId, t.listId, t.status, t.createdAt, t.contactId),
      oneOf('subscriptions_status_check', t.status, subscriptionStatuses),
    ],
  },
)

/** Opt-outs of deleted contacts, as keyed hashes of the address, so that an import does not resubscribe them. */
export const optOuts = tenantTable(
  'opt_outs',
  {
    listId: id('lst').notNull(),
    emailHash: text().notNull(),
    status: text({ enum: ['UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] }).notNull(),
    createdAt: createdAt(),
  },
  { key: ['listId', 'emailHash'], ownedBy: { listId: lists } },
)

/** Addresses with a hard bounce or a complaint, as keyed hashes. No list of the workspace may contain them. */
export const suppressions = tenantTable(
  'suppressions',
  {
    emailHash: text().notNull(),
    status: text({ enum: ['BOUNCED', 'COMPLAINED'] }).notNull(),
    createdAt: createdAt(),
  },
  { key: ['emailHash'], extra: (t) => [oneOf('suppressions_status_check', t.status, ['BOUNCED', 'COMPLAINED'])] },
)
