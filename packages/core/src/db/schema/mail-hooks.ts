import { index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, oneOf, id } from './columns.ts'
import { workspaces } from './workspaces.ts'

export const mailProviders = ['mailgun', 'postmark', 'resend', 'sendgrid', 'ses'] as const

/** The URLs for the webhooks of mail providers. The id is a part of the URL, and found without the workspace. */
export const mailHooks = pgTable(
  'mail_hooks',
  {
    id: id('mhk').primaryKey(),
    /** Null for a hook of the installation, whose reports find their workspaces by the emails that they name. */
    workspaceId: id('wsp').references(() => workspaces.id, { onDelete: 'cascade' }),
    provider: text({ enum: mailProviders }).notNull(),
    /** What proves that a message is of the provider, see `secretRules`. Sealed with SECRET_KEY. */
    encryptedSecret: text().notNull(),
    /** When the last message with a valid signature arrived. Written at most once a minute. */
    lastMessageAt: timestamptz(),
    createdAt: createdAt(),
  },
  (t) => [
    index('mail_hooks_workspace_index').on(t.workspaceId, t.createdAt, t.id),
    oneOf('mail_hooks_provider_check', t.provider, mailProviders),
  ],
)

/** Hashes of the signed tokens that were accepted: the signatures of Mailgun do not cover the reports. */
export const mailHookTokens = pgTable(
  'mail_hook_tokens',
  {
    hookId: id('mhk').notNull(),
    tokenHash: text().notNull(),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.hookId, t.tokenHash] }), index('mail_hook_tokens_created_index').on(t.createdAt)],
)
