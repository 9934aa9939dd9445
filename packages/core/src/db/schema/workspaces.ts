import { pgTable, text } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, id } from './columns.ts'

export const workspaces = pgTable('workspaces', {
  id: id('wsp').primaryKey(),
  name: text().notNull(),
  currency: text().notNull().default('EUR'),
  fromName: text(),
  fromEmail: text(),
  postalAddress: text(),
  /** The logo and the color of the hosted pages: forms, confirmation and unsubscribe pages. */
  logoUrl: text(),
  accentColor: text(),
  createdAt: createdAt(),
  updatedAt: createdAt(),
  /** Soft delete: the worker deletes the data of the workspace, then the row. */
  deletedAt: timestamptz(),
})
