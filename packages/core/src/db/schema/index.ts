/**
 * Every table, in reading order. Each table of a workspace leads its primary key with `workspace_id`, and foreign keys
 * name both columns, so that the database itself refuses a link between two workspaces.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  customType,
  foreignKey,
  index,
  integer,
  json,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
  type AnyPgColumn,
} from 'drizzle-orm/pg-core'
import { id } from '../../kernel/ids.ts'

const moment = () => timestamp({ precision: 3, withTimezone: true, mode: 'date' })
const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
const transactionId = customType<{ data: string }>({ dataType: () => 'xid8' })
const createdAt = () => moment().notNull().defaultNow()
const lower = (column: AnyPgColumn) => sql`lower(${column})`
const oneOf = (name: string, column: AnyPgColumn, values: readonly string[]) =>
  check(name, sql`${column} in (${sql.raw(values.map((value) => `'${value}'`).join(', '))})`)

// ── Workspaces and who may enter them ───────────────────────────────────────────────────────────────────────────────

export const roles = ['VIEWER', 'MEMBER', 'ADMIN', 'OWNER'] as const
export type Role = (typeof roles)[number]

export const workspaces = pgTable('workspaces', {
  id: id('wsp').primaryKey(),
  name: text().notNull(),
  currency: text().notNull().default('EUR'),
  fromName: text(),
  fromEmail: text(),
  postalAddress: text(),
  createdAt: createdAt(),
  updatedAt: createdAt(),
  /** Gone for everyone; the worker takes away what is in it, and then the row. */
  deletedAt: moment(),
})

export const users = pgTable(
  'users',
  {
    id: id('usr').primaryKey(),
    email: text().notNull(),
    name: text().notNull().default(''),
    passwordHash: text().notNull(),
    /** When it was first proved that the address is theirs: until then anybody may have signed up with it. */
    emailVerifiedAt: moment(),
    verificationMailedAt: moment(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [uniqueIndex('users_email_key').on(lower(t.email))],
)

export const members = pgTable(
  'members',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    userId: id('usr')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    role: text({ enum: roles }).notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.userId] }),
    index('members_user_index').on(t.userId),
    oneOf('members_role_check', t.role, roles),
  ],
)

export const sessions = pgTable(
  'sessions',
  {
    /** SHA-256 of the token: the token itself is nowhere. */
    tokenHash: text().primaryKey(),
    /** What the session is called, as its token must not be. */
    id: id('ses').notNull().default(sql`uuidv7()`),
    workspaceId: id('wsp').notNull(),
    userId: id('usr').notNull(),
    expiresAt: moment().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    foreignKey({
      name: 'sessions_member_fk',
      columns: [t.workspaceId, t.userId],
      foreignColumns: [members.workspaceId, members.userId],
    }).onDelete('cascade'),
    unique('sessions_id_key').on(t.id),
    index('sessions_user_index').on(t.userId),
    index('sessions_expiry_index').on(t.expiresAt),
  ],
)

/** Who was asked to join. The row goes when they do: a token is good once. */
export const invites = pgTable(
  'invites',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('inv').notNull(),
    email: text().notNull(),
    role: text({ enum: roles }).notNull(),
    /** SHA-256 of the token in the newest mail. */
    tokenHash: text().notNull(),
    /** How often it was mailed again, each time with a token of its own. */
    resends: integer().notNull().default(0),
    /** The user who asked, by themselves or by an API key of theirs; who may be gone by now. */
    createdBy: id('usr'),
    expiresAt: moment().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    unique('invites_token_key').on(t.tokenHash),
    uniqueIndex('invites_email_key').on(t.workspaceId, lower(t.email)),
    index('invites_created_index').on(t.workspaceId, t.createdAt, t.id),
    oneOf('invites_role_check', t.role, roles),
  ],
)

/** Who forgot their password. A token is good once: used, it expired when it was made. */
export const passwordResets = pgTable(
  'password_resets',
  {
    id: id('rst').primaryKey(),
    userId: id('usr')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** SHA-256 of the token in the mail. */
    tokenHash: text().notNull(),
    expiresAt: moment().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    unique('password_resets_token_key').on(t.tokenHash),
    index('password_resets_user_index').on(t.userId, t.createdAt),
    index('password_resets_expiry_index').on(t.expiresAt),
  ],
)

/** Wrong passwords in a row, by what they were tried for, known or not: an address, and an address from one client. */
export const loginFailures = pgTable(
  'login_failures',
  {
    /** Of the address alone, or of the address and the client. */
    emailHash: text().primaryKey(),
    count: integer().notNull(),
    lastFailedAt: createdAt(),
    /** Until when this client counts as one that the address was used from before. */
    knownUntil: moment(),
  },
  (t) => [index('login_failures_failed_index').on(t.lastFailedAt)],
)

/** Who did what. Rows are added and never changed. */
export const auditEntries = pgTable(
  'audit_entries',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('aud').notNull(),
    action: text().notNull(),
    actorKind: text({ enum: ['user', 'apiKey', 'public', 'system'] }).notNull(),
    /** Identifiers as the API shows them, of what may be gone by now. */
    actorId: text(),
    subjectId: text(),
    details: jsonb().$type<Record<string, string | number | null>>().notNull(),
    address: text(),
    requestId: text().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    index('audit_entries_created_index').on(t.workspaceId, t.createdAt, t.id),
    index('audit_entries_action_index').on(t.workspaceId, t.action, t.createdAt, t.id),
    index('audit_entries_actor_index').on(t.workspaceId, t.actorId, t.createdAt, t.id),
  ],
)

export const apiKeys = pgTable(
  'api_keys',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('key').notNull(),
    name: text().notNull(),
    role: text({ enum: roles }).notNull(),
    /** The start of the key, enough for a person to recognise it. */
    prefix: text().notNull(),
    keyHash: text().notNull(),
    /** The user who issued it, by themselves or by an API key of theirs; who may be gone by now. */
    createdBy: id('usr'),
    expiresAt: moment(),
    lastUsedAt: moment(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    unique('api_keys_hash_key').on(t.keyHash),
    index('api_keys_created_index').on(t.workspaceId, t.createdAt, t.id),
    oneOf('api_keys_role_check', t.role, ['VIEWER', 'MEMBER', 'ADMIN']),
  ],
)

export const idempotencyRecords = pgTable(
  'idempotency_records',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    requestHash: text().notNull(),
    status: integer().notNull(),
    location: text(),
    /** The answer's body, encrypted: it may hold a secret that is shown only once. */
    body: text().notNull(),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.key] }), index('idempotency_records_created_index').on(t.createdAt)],
)

// ── Contacts, lists, subscriptions ──────────────────────────────────────────────────────────────────────────────────

export const emailSubscribedStatuses = [
  'NONE',
  'PENDING',
  'SUBSCRIBED',
  'UNSUBSCRIBED',
  'BOUNCED',
  'COMPLAINED',
] as const

/** What sorts by `lastActivityAt`: who was never active comes before all others. */
export const activityOrder = (lastActivityAt: AnyPgColumn) => sql`coalesce(${lastActivityAt}, '-infinity'::timestamptz)`

export const contacts = pgTable(
  'contacts',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('con').notNull(),
    email: text().notNull(),
    firstName: text().notNull().default(''),
    lastName: text().notNull().default(''),
    phone: text(),
    company: text(),
    customFieldValues: jsonb().$type<Record<string, string | number | boolean>>().notNull().default({}),
    tags: text().array().notNull().default([]),
    /** Derived from the contact's subscriptions by `subscribed-status.ts`, and by nothing else. */
    emailSubscribedStatus: text({ enum: emailSubscribedStatuses }).notNull().default('NONE'),
    lastActivityAt: moment(),
    source: text(),
    /** What `search` looks in, without case and accents. Kept, as folding each candidate anew would be most of a search. */
    searchText: text()
      .notNull()
      .generatedAlwaysAs(
        sql`fold_text(first_name || ' ' || last_name || ' ' || email || ' ' || coalesce(company, '') || ' ' || coalesce(phone, ''))`,
      ),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    uniqueIndex('contacts_email_key').on(t.workspaceId, lower(t.email)),
    index('contacts_created_index').on(t.workspaceId, t.createdAt, t.id),
    index('contacts_updated_index').on(t.workspaceId, t.updatedAt, t.id),
    index('contacts_status_index').on(t.workspaceId, t.emailSubscribedStatus, t.createdAt, t.id),
    index('contacts_source_index').on(t.workspaceId, t.source, t.createdAt, t.id).where(sql`${t.source} is not null`),
    index('contacts_activity_index').on(t.workspaceId, activityOrder(t.lastActivityAt), t.id),
    index('contacts_search_index').using('gin', t.workspaceId, t.searchText.op('gin_trgm_ops')),
    index('contacts_tags_index').using('gin', t.workspaceId, t.tags),
    index('contacts_custom_fields_index').using('gin', t.workspaceId, t.customFieldValues.op('jsonb_path_ops')),
    oneOf('contacts_status_check', t.emailSubscribedStatus, emailSubscribedStatuses),
  ],
)

export const customFieldTypes = ['TEXT', 'NUMBER', 'BOOLEAN', 'DATE', 'SELECT'] as const

/** What a workspace knows of its contacts beyond the fields everyone has. */
export const customFields = pgTable(
  'custom_fields',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('cfd').notNull(),
    key: text().notNull(),
    label: text().notNull(),
    type: text({ enum: customFieldTypes }).notNull(),
    /** The choices of a SELECT; empty for the others. */
    options: text().array().notNull().default([]),
    /** Removed for everybody but the worker, who takes the values from the contacts and then the row. */
    removedAt: moment(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    unique('custom_fields_key_key').on(t.workspaceId, t.key),
    index('custom_fields_created_index').on(t.workspaceId, t.createdAt, t.id),
    oneOf('custom_fields_type_check', t.type, customFieldTypes),
  ],
)

/** The ids of contacts that were merged into another: links in mails they got keep working. */
export const contactAliases = pgTable(
  'contact_aliases',
  {
    workspaceId: id('wsp').notNull(),
    id: id('con').notNull(),
    contactId: id('con').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    foreignKey({
      name: 'contact_aliases_contact_fk',
      columns: [t.workspaceId, t.contactId],
      foreignColumns: [contacts.workspaceId, contacts.id],
    }).onDelete('cascade'),
    index('contact_aliases_contact_index').on(t.workspaceId, t.contactId),
  ],
)

export const lists = pgTable(
  'lists',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('lst').notNull(),
    name: text().notNull(),
    description: text().notNull().default(''),
    doubleOptIn: boolean().notNull().default(true),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    /** Gone for everyone; the worker takes its subscriptions away, and then the row. */
    deletedAt: moment(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    // The public route knows a list by its id alone.
    unique('lists_id_key').on(t.id),
    index('lists_created_index').on(t.workspaceId, t.createdAt, t.id),
  ],
)

export const subscriptionStatuses = ['PENDING', 'CONFIRMED', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] as const

export const subscriptions = pgTable(
  'subscriptions',
  {
    workspaceId: id('wsp').notNull(),
    listId: id('lst').notNull(),
    contactId: id('con').notNull(),
    status: text({ enum: subscriptionStatuses }).notNull(),
    source: text(),
    /** When a confirmation was asked for by mail, the last three times, newest first. */
    confirmationsRequestedAt: moment().array().notNull().default([]),
    confirmedAt: moment(),
    unsubscribedAt: moment(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.listId, t.contactId] }),
    foreignKey({
      name: 'subscriptions_list_fk',
      columns: [t.workspaceId, t.listId],
      foreignColumns: [lists.workspaceId, lists.id],
    }).onDelete('cascade'),
    foreignKey({
      name: 'subscriptions_contact_fk',
      columns: [t.workspaceId, t.contactId],
      foreignColumns: [contacts.workspaceId, contacts.id],
    }).onDelete('cascade'),
    index('subscriptions_contact_index').on(t.workspaceId, t.contactId),
    index('subscriptions_created_index').on(t.workspaceId, t.listId, t.createdAt, t.contactId),
    index('subscriptions_status_index').on(t.workspaceId, t.listId, t.status, t.createdAt, t.contactId),
    oneOf('subscriptions_status_check', t.status, subscriptionStatuses),
  ],
)

/** The opt-outs of people who were deleted since: a keyed hash of the address, so that nobody is subscribed again by an import. */
export const optOuts = pgTable(
  'opt_outs',
  {
    workspaceId: id('wsp').notNull(),
    listId: id('lst').notNull(),
    emailHash: text().notNull(),
    status: text({ enum: ['UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] }).notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.listId, t.emailHash] }),
    foreignKey({
      name: 'opt_outs_list_fk',
      columns: [t.workspaceId, t.listId],
      foreignColumns: [lists.workspaceId, lists.id],
    }).onDelete('cascade'),
  ],
)

/** Addresses that bounced for good or complained, as keyed hashes: kept out of every list of the workspace. */
export const suppressions = pgTable(
  'suppressions',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    emailHash: text().notNull(),
    status: text({ enum: ['BOUNCED', 'COMPLAINED'] }).notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.emailHash] }),
    oneOf('suppressions_status_check', t.status, ['BOUNCED', 'COMPLAINED']),
  ],
)

export const importStatuses = ['RECEIVING', 'QUEUED', 'RUNNING', 'COMPLETED', 'FAILED'] as const

/** An import of contacts. What was done of it, and where it stands, change in one transaction with the contacts. */
export const imports = pgTable(
  'imports',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('imp').notNull(),
    status: text({ enum: importStatuses }).notNull(),
    format: text({ enum: ['csv', 'ndjson'] }).notNull(),
    /** What a CSV's header says: what separates its cells, and what each column is (see `matchColumns`). */
    layout: jsonb().$type<{ delimiter: string; columns: (string | null)[] }>(),
    onConflict: text({ enum: ['skip', 'update'] }).notNull(),
    /** No foreign key: the record of what was done outlives the list. The subscriptions have theirs. */
    listId: id('lst'),
    dryRun: boolean().notNull(),
    eachEvent: boolean().notNull(),
    processed: integer().notNull().default(0),
    created: integer().notNull().default(0),
    updated: integer().notNull().default(0),
    skipped: integer().notNull().default(0),
    failed: integer().notNull().default(0),
    /** The first hundred rows that failed, with their lines; and why the import failed as a whole. */
    errors: jsonb().$type<{ line: number; message: string }[]>().notNull().default([]),
    /** Bytes of the file, uncompressed. */
    size: bigint({ mode: 'number' }).notNull().default(0),
    /** Where the first row that is not done begins: byte, and line counted from 1. */
    position: bigint({ mode: 'number' }).notNull(),
    line: integer().notNull(),
    workerId: uuid(),
    createdAt: createdAt(),
    /** When the last part of the file came in. */
    receivedAt: createdAt(),
    startedAt: moment(),
    completedAt: moment(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    index('imports_created_index').on(t.workspaceId, t.createdAt, t.id),
    index('imports_worker_index').on(t.workerId).where(sql`${t.status} = 'RUNNING'`),
    index('imports_receiving_index').on(t.receivedAt).where(sql`${t.status} = 'RECEIVING'`),
    oneOf('imports_status_check', t.status, importStatuses),
  ],
)

/** The file of an import, in parts, until it is done: the API and the worker need not share a disk. */
export const importParts = pgTable(
  'import_parts',
  {
    workspaceId: id('wsp').notNull(),
    importId: id('imp').notNull(),
    /** Where in the file the part begins, in bytes. */
    position: bigint({ mode: 'number' }).notNull(),
    bytes: bytea().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.importId, t.position] }),
    foreignKey({
      name: 'import_parts_import_fk',
      columns: [t.workspaceId, t.importId],
      foreignColumns: [imports.workspaceId, imports.id],
    }).onDelete('cascade'),
  ],
)

/** The addresses that a dry run has come across, as hashes: it writes no contact by which it would know them again. */
export const importSeen = pgTable(
  'import_seen',
  {
    workspaceId: id('wsp').notNull(),
    importId: id('imp').notNull(),
    emailHash: bigint({ mode: 'bigint' }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.importId, t.emailHash] }),
    foreignKey({
      name: 'import_seen_import_fk',
      columns: [t.workspaceId, t.importId],
      foreignColumns: [imports.workspaceId, imports.id],
    }).onDelete('cascade'),
  ],
)

// ── Forms ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export const formFieldTypes = [
  'TEXT',
  'TEXTAREA',
  'EMAIL',
  'PHONE',
  'NUMBER',
  'DATE',
  'SELECT',
  'CHECKBOX',
  'CONSENT',
] as const

export interface FormField {
  id: string
  label: string
  type: (typeof formFieldTypes)[number]
  required: boolean
  options?: string[]
  mapsTo?: string
}

export const forms = pgTable(
  'forms',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('frm').notNull(),
    name: text().notNull(),
    /** `json`, not `jsonb`, keeps the order of what is shown. */
    fields: json().$type<FormField[]>().notNull(),
    /** Emptied when the list is deleted: the migration names the column, which drizzle cannot. */
    listId: id('lst'),
    tags: text().array().notNull().default([]),
    successMessage: text().notNull(),
    redirectUrl: text(),
    enabled: boolean().notNull().default(true),
    /** Submissions that filled the honeypot. */
    spamCount: integer().notNull().default(0),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    // The public routes know a form by its id alone.
    unique('forms_id_key').on(t.id),
    index('forms_created_index').on(t.workspaceId, t.createdAt, t.id),
    index('forms_list_index').on(t.workspaceId, t.listId).where(sql`${t.listId} is not null`),
    foreignKey({
      name: 'forms_list_fk',
      columns: [t.workspaceId, t.listId],
      foreignColumns: [lists.workspaceId, lists.id],
    }),
  ],
)

export const formSubmissions = pgTable(
  'form_submissions',
  {
    workspaceId: id('wsp').notNull(),
    id: id('sub').notNull(),
    formId: id('frm').notNull(),
    /** Who it maps to, if anyone. It goes with the person. */
    contactId: id('con'),
    values: json().$type<Record<string, string | number | boolean>>().notNull(),
    /** What was consented to, in the words that were shown. */
    consents: jsonb().$type<{ fieldId: string; wording: string }[]>().notNull(),
    /** Of the sender's key and what was sent: a repetition is recognised by it. */
    repetitionHash: text(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    unique('form_submissions_repetition_key').on(t.workspaceId, t.formId, t.repetitionHash),
    foreignKey({
      name: 'form_submissions_form_fk',
      columns: [t.workspaceId, t.formId],
      foreignColumns: [forms.workspaceId, forms.id],
    }).onDelete('cascade'),
    foreignKey({
      name: 'form_submissions_contact_fk',
      columns: [t.workspaceId, t.contactId],
      foreignColumns: [contacts.workspaceId, contacts.id],
    }).onDelete('cascade'),
    index('form_submissions_created_index').on(t.workspaceId, t.formId, t.createdAt, t.id),
    index('form_submissions_contact_index').on(t.workspaceId, t.contactId).where(sql`${t.contactId} is not null`),
  ],
)

// ── Pipelines and deals ─────────────────────────────────────────────────────────────────────────────────────────────

export const pipelines = pgTable(
  'pipelines',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('pip').notNull(),
    name: text().notNull(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    index('pipelines_created_index').on(t.workspaceId, t.createdAt, t.id),
  ],
)

export const stages = pgTable(
  'stages',
  {
    workspaceId: id('wsp').notNull(),
    id: id('stg').notNull(),
    pipelineId: id('pip').notNull(),
    name: text().notNull(),
    position: integer().notNull(),
    /** Per cent. */
    winProbability: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    // So that a deal can name its pipeline and one of that pipeline's stages in one foreign key.
    unique('stages_pipeline_key').on(t.workspaceId, t.pipelineId, t.id),
    unique('stages_position_key').on(t.workspaceId, t.pipelineId, t.position),
    foreignKey({
      name: 'stages_pipeline_fk',
      columns: [t.workspaceId, t.pipelineId],
      foreignColumns: [pipelines.workspaceId, pipelines.id],
    }).onDelete('cascade'),
    check('stages_win_probability_check', sql`${t.winProbability} between 0 and 100`),
  ],
)

export const dealStatuses = ['OPEN', 'WON', 'LOST'] as const

/** What sorts by `closedAt`: what is not closed comes before all others. */
export const closingOrder = (closedAt: AnyPgColumn) => sql`coalesce(${closedAt}, '-infinity'::timestamptz)`

export const deals = pgTable(
  'deals',
  {
    workspaceId: id('wsp').notNull(),
    id: id('dea').notNull(),
    pipelineId: id('pip').notNull(),
    stageId: id('stg').notNull(),
    contactId: id('con').notNull(),
    name: text().notNull().default(''),
    valueCents: bigint({ mode: 'number' }).notNull().default(0),
    status: text({ enum: dealStatuses }).notNull().default('OPEN'),
    closedAt: moment(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    // One key: the stage is always one of the deal's own pipeline.
    foreignKey({
      name: 'deals_stage_fk',
      columns: [t.workspaceId, t.pipelineId, t.stageId],
      foreignColumns: [stages.workspaceId, stages.pipelineId, stages.id],
    }),
    foreignKey({
      name: 'deals_contact_fk',
      columns: [t.workspaceId, t.contactId],
      foreignColumns: [contacts.workspaceId, contacts.id],
    }).onDelete('cascade'),
    index('deals_created_index').on(t.workspaceId, t.createdAt, t.id),
    index('deals_updated_index').on(t.workspaceId, t.updatedAt, t.id),
    index('deals_value_index').on(t.workspaceId, t.valueCents, t.id),
    index('deals_closed_index').on(t.workspaceId, closingOrder(t.closedAt), t.id),
    index('deals_status_index').on(t.workspaceId, t.status, t.createdAt, t.id),
    index('deals_pipeline_index').on(t.workspaceId, t.pipelineId, t.createdAt, t.id),
    index('deals_stage_index').on(t.workspaceId, t.stageId, t.createdAt, t.id),
    index('deals_contact_index').on(t.workspaceId, t.contactId, t.createdAt, t.id),
    // With the value in it, so that a pipeline's sums are read from the index alone.
    index('deals_open_index').on(t.workspaceId, t.pipelineId, t.stageId, t.valueCents).where(sql`${t.status} = 'OPEN'`),
    oneOf('deals_status_check', t.status, dealStatuses),
    check('deals_closed_check', sql`(${t.status} = 'OPEN') = (${t.closedAt} is null)`),
    check('deals_value_check', sql`${t.valueCents} between 0 and 9007199254740991`),
  ],
)

/** Each time a deal went to another stage or status: from where, to where, when and by whom. */
export const dealMoves = pgTable(
  'deal_moves',
  {
    workspaceId: id('wsp').notNull(),
    id: id('mov').notNull(),
    dealId: id('dea').notNull(),
    // No foreign keys from here on: where a deal once was outlives the stage, and who moved it the person.
    fromPipelineId: id('pip').notNull(),
    fromStageId: id('stg').notNull(),
    fromStatus: text({ enum: dealStatuses }).notNull(),
    toPipelineId: id('pip').notNull(),
    toStageId: id('stg').notNull(),
    toStatus: text({ enum: dealStatuses }).notNull(),
    userId: id('usr'),
    apiKeyId: id('key'),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    foreignKey({
      name: 'deal_moves_deal_fk',
      columns: [t.workspaceId, t.dealId],
      foreignColumns: [deals.workspaceId, deals.id],
    }).onDelete('cascade'),
    index('deal_moves_deal_index').on(t.workspaceId, t.dealId, t.createdAt, t.id),
  ],
)

// ── Tasks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export const taskStatuses = ['OPEN', 'DONE'] as const

/** What sorts by `dueAt`: open tasks by when they are due, those that never are after them, and last what is done. */
export const dueOrder = (t: Record<'status' | 'dueAt', AnyPgColumn>) =>
  sql`(case when ${t.status} = 'OPEN' then coalesce(${t.dueAt}, '10000-01-01 00:00:00+00'::timestamptz) else 'infinity'::timestamptz end)`

export const tasks = pgTable(
  'tasks',
  {
    workspaceId: id('wsp').notNull(),
    id: id('tsk').notNull(),
    contactId: id('con').notNull(),
    title: text().notNull(),
    notes: text().notNull().default(''),
    status: text({ enum: taskStatuses }).notNull().default('OPEN'),
    dueAt: moment(),
    assigneeId: id('usr'),
    completedAt: moment(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    foreignKey({
      name: 'tasks_contact_fk',
      columns: [t.workspaceId, t.contactId],
      foreignColumns: [contacts.workspaceId, contacts.id],
    }).onDelete('cascade'),
    // A migration makes it SET NULL (assignee_id): who leaves the workspace leaves their tasks to nobody.
    foreignKey({
      name: 'tasks_assignee_fk',
      columns: [t.workspaceId, t.assigneeId],
      foreignColumns: [members.workspaceId, members.userId],
    }).onDelete('set null'),
    index('tasks_created_index').on(t.workspaceId, t.createdAt, t.id),
    index('tasks_order_index').on(t.workspaceId, dueOrder(t), t.id),
    index('tasks_due_index').on(t.workspaceId, t.dueAt),
    index('tasks_contact_index').on(t.workspaceId, t.contactId, dueOrder(t), t.id),
    index('tasks_assignee_index').on(t.workspaceId, t.assigneeId, dueOrder(t), t.id),
    oneOf('tasks_status_check', t.status, taskStatuses),
    check('tasks_completed_check', sql`(${t.status} = 'OPEN') = (${t.completedAt} is null)`),
  ],
)

// ── Campaigns ───────────────────────────────────────────────────────────────────────────────────────────────────────

export const campaignStatuses = ['DRAFT', 'SENDING', 'PAUSED', 'SENT', 'CANCELED'] as const

export const campaigns = pgTable(
  'campaigns',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
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
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    foreignKey({
      name: 'campaigns_list_fk',
      columns: [t.workspaceId, t.listId],
      foreignColumns: [lists.workspaceId, lists.id],
    }),
    index('campaigns_created_index').on(t.workspaceId, t.createdAt, t.id),
    index('campaigns_list_index').on(t.workspaceId, t.listId),
    oneOf('campaigns_status_check', t.status, campaignStatuses),
  ],
)

export const batchStatuses = ['PENDING', 'SENDING', 'DONE'] as const

/** A slice of a campaign's audience, frozen at `send`. One job each. */
export const campaignBatches = pgTable(
  'campaign_batches',
  {
    workspaceId: id('wsp').notNull(),
    id: id('bat').notNull(),
    campaignId: id('cmp').notNull(),
    /** No foreign key can watch an array: a contact that has gone meanwhile is skipped when its turn comes. */
    contactIds: uuid().array().notNull(),
    status: text({ enum: batchStatuses }).notNull().default('PENDING'),
    /** The worker that has it in hand while SENDING. */
    workerId: uuid(),
    /** How many of its people are in each final status: changed in the statement that changes them, see `tally`. */
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
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    foreignKey({
      name: 'campaign_batches_campaign_fk',
      columns: [t.workspaceId, t.campaignId],
      foreignColumns: [campaigns.workspaceId, campaigns.id],
    }).onDelete('cascade'),
    index('campaign_batches_campaign_index').on(t.workspaceId, t.campaignId),
    index('campaign_batches_open_index').on(t.workspaceId, t.campaignId, t.id).where(sql`${t.status} <> 'DONE'`),
    index('campaign_batches_worker_index').on(t.workerId).where(sql`${t.status} = 'SENDING'`),
    oneOf('campaign_batches_status_check', t.status, batchStatuses),
  ],
)

export const recipientStatuses = ['SENDING', 'WAITING', 'SENT', 'FAILED', 'SKIPPED', 'INTERRUPTED'] as const

/**
 * One row for each person whose turn has come; whoever inserts it, and nobody else ever, may send to them. Who has no
 * row yet is pending, as is one WAITING for another try after a refusal that was surely none but temporary.
 * Rows outlive their contact, so that a campaign's sums stay true.
 */
export const campaignRecipients = pgTable(
  'campaign_recipients',
  {
    workspaceId: id('wsp').notNull(),
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
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.campaignId, t.contactId] }),
    foreignKey({
      name: 'campaign_recipients_campaign_fk',
      columns: [t.workspaceId, t.campaignId],
      foreignColumns: [campaigns.workspaceId, campaigns.id],
    }).onDelete('cascade'),
    index('campaign_recipients_batch_index').on(t.workspaceId, t.batchId),
    index('campaign_recipients_created_index').on(t.workspaceId, t.campaignId, t.createdAt, t.contactId),
    index('campaign_recipients_status_index').on(t.workspaceId, t.campaignId, t.status, t.createdAt, t.contactId),
    index('campaign_recipients_worker_index').on(t.workerId).where(sql`${t.status} = 'SENDING'`),
    oneOf('campaign_recipients_status_check', t.status, recipientStatuses),
  ],
)

export const mailKinds = ['CONFIRMATION', 'CAMPAIGN_TEST', 'INVITE', 'PASSWORD_RESET', 'EMAIL_VERIFICATION'] as const
export const mailStatuses = ['PENDING', 'SENDING', 'SENT', 'FAILED', 'INTERRUPTED'] as const

/** Single mails, each asked for by somebody's own act. `data` holds ids for the kind's template, never a secret. */
export const mails = pgTable(
  'mails',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('mai').notNull(),
    kind: text({ enum: mailKinds }).notNull(),
    toAddress: text().notNull(),
    data: jsonb().$type<Record<string, string | null>>().notNull(),
    status: text({ enum: mailStatuses }).notNull().default('PENDING'),
    attempts: integer().notNull().default(0),
    workerId: uuid(),
    error: text(),
    createdAt: createdAt(),
    settledAt: moment(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    index('mails_worker_index').on(t.workerId).where(sql`${t.status} = 'SENDING'`),
    index('mails_created_index').on(t.createdAt),
    index('mails_invites_index').on(t.workspaceId, lower(t.toAddress), t.createdAt).where(sql`${t.kind} = 'INVITE'`),
    oneOf('mails_kind_check', t.kind, mailKinds),
    oneOf('mails_status_check', t.status, mailStatuses),
  ],
)

/** The reports of mail providers that were taken, as hashes, so that one that is repeated counts once. */
export const mailReports = pgTable(
  'mail_reports',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    fingerprint: text().notNull(),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.fingerprint] }), index('mail_reports_created_index').on(t.createdAt)],
)

// ── Events and webhooks ─────────────────────────────────────────────────────────────────────────────────────────────

/** In partitions by the time in its ids, as deliveries are: see `partitions.ts`. */
export const events = pgTable(
  'events',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('evt').notNull(),
    type: text().notNull(),
    /** The record as the API shows it. `json`, not `jsonb`, keeps the order of its fields. */
    data: json().notNull(),
    /** Whose activity it is. No foreign key: what happened outlives the person. */
    contactId: id('con'),
    /** The transaction that told it: its place in the feed, see `webhooks/event-log.ts`. */
    transactionId: transactionId().notNull().default(sql`pg_current_xact_id()`),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    index('events_created_index').on(t.createdAt),
    // The type at its end lets a filter pass over what it does not want without a look at the rows.
    index('events_feed_index').on(t.workspaceId, t.transactionId, t.id, t.type),
    index('events_contact_index')
      .on(t.workspaceId, t.contactId, t.createdAt, t.id)
      .where(sql`${t.contactId} is not null`),
  ],
)

export const webhooks = pgTable(
  'webhooks',
  {
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: id('whk').notNull(),
    url: text().notNull(),
    eventTypes: text().array().notNull(),
    enabled: boolean().notNull().default(true),
    encryptedSecret: text().notNull(),
    /** Secrets that were replaced and sign beside the present one `until` then. */
    formerSecrets: jsonb().$type<{ encrypted: string; until: string }[]>().notNull().default([]),
    /** To everyone but the worker it is gone; the worker takes what hangs on it away, a little at a time. */
    deletedAt: moment(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    index('webhooks_created_index').on(t.workspaceId, t.createdAt, t.id),
    index('webhooks_deleted_index').on(t.deletedAt).where(sql`${t.deletedAt} is not null`),
  ],
)

export const deliveryStatuses = ['PENDING', 'SENDING', 'SUCCEEDED', 'FAILED', 'INTERRUPTED'] as const

export const deliveries = pgTable(
  'deliveries',
  {
    workspaceId: id('wsp').notNull(),
    id: id('dlv').notNull(),
    webhookId: id('whk').notNull(),
    /** No foreign key: no partition of events could be dropped. Who adds a row locks its event, or makes it. */
    eventId: id('evt').notNull(),
    eventType: text().notNull(),
    status: text({ enum: deliveryStatuses }).notNull().default('PENDING'),
    workerId: uuid(),
    attemptedAt: moment(),
    durationMs: integer(),
    responseStatus: integer(),
    responseBody: text(),
    error: text(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    foreignKey({
      name: 'deliveries_webhook_fk',
      columns: [t.workspaceId, t.webhookId],
      foreignColumns: [webhooks.workspaceId, webhooks.id],
    }).onDelete('cascade'),
    // What filters ask for is at its end, so that they pass over the rest without a look at the rows.
    index('deliveries_webhook_index').on(t.workspaceId, t.webhookId, t.createdAt, t.id, t.eventType, t.status),
    index('deliveries_event_index').on(t.workspaceId, t.eventId),
    index('deliveries_worker_index').on(t.workerId).where(sql`${t.status} = 'SENDING'`),
    oneOf('deliveries_status_check', t.status, deliveryStatuses),
  ],
)

// ── Work under way ──────────────────────────────────────────────────────────────────────────────────────────────────

/** What is still to be done: a row for each piece of work, under the id of its subject, until the outcome is recorded. */
export const outbox = pgTable(
  'outbox',
  {
    id: uuid().primaryKey(),
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    queue: text().notNull(),
    /** Work of one lane is handed over a few pieces at a time, the rest waits here. A delivery's is its webhook. */
    lane: uuid(),
    /** The life of the queue's store in which this was handed over; null: not yet. See the worker's relay. */
    relayedEpoch: text(),
    relayedAt: moment(),
    relays: integer().notNull().default(0),
    /** The request that asked for this, as logs and traces know it. */
    requestId: text(),
    traceparent: text(),
    createdAt: createdAt(),
  },
  (t) => [
    index('outbox_waiting_index').on(t.createdAt).where(sql`${t.relayedEpoch} is null and ${t.lane} is null`),
    index('outbox_lane_index')
      .on(t.lane, t.createdAt, t.id)
      .where(sql`${t.relayedEpoch} is null and ${t.lane} is not null`),
    index('outbox_busy_index')
      .on(t.workspaceId, t.lane)
      .where(sql`${t.relayedEpoch} is not null and ${t.lane} is not null`),
    index('outbox_epoch_index').on(t.relayedEpoch, t.relayedAt).where(sql`${t.relayedEpoch} is not null`),
    // What the one of busy lanes leaves out: else a plan may count what is handed over by reading all that waits.
    index('outbox_rest_index').on(t.workspaceId).where(sql`${t.relayedEpoch} is null or ${t.lane} is null`),
  ],
)

/** The worker processes that are alive. One that has not been seen for a while is dead, and what it had in hand is interrupted. */
export const workers = pgTable('workers', {
  id: uuid().primaryKey(),
  host: text().notNull(),
  startedAt: createdAt(),
  seenAt: createdAt(),
})

/** One row: the moment from which the next mail may leave, so that MAIL_RATE holds over all workers. */
export const mailPace = pgTable('mail_pace', {
  id: bigint({ mode: 'number' }).primaryKey(),
  /** To the microsecond: at a thousand mails a second, milliseconds would round. */
  nextAt: timestamp({ withTimezone: true, mode: 'date' }).notNull().defaultNow(),
})
