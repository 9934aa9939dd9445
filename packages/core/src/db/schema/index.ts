/**
 * Every table, with one file per slice. The order defines which slices may import each other: a slice may import only
 * slices above it in this list (import-boundaries.test.ts).
 */
export * from './jobs.ts'
export * from './idempotency.ts'
export * from './events.ts'
export * from './audit.ts'
export * from './mail.ts'
export * from './pipelines.ts'
export * from './workspaces.ts'
export * from './subscriptions.ts'
export * from './custom-fields.ts'
export * from './segments.ts'
export * from './contacts.ts'
export * from './lists.ts'
export * from './deals.ts'
export * from './tasks.ts'
export * from './forms.ts'
export * from './imports.ts'
export * from './campaigns.ts'
export * from './webhooks.ts'
export * from './auth.ts'
export * from './team.ts'
