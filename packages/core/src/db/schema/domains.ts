/**
 * The statuses of a sending domain. `keys.signing` signs only while the domain is VERIFIED.
 *
 * | domain   | from     | when                                                                            |
 * |----------|----------|---------------------------------------------------------------------------------|
 * | PENDING  |          | created; the record of the signing key was never found                          |
 * | VERIFIED | PENDING  | a check finds the record of the signing key                                     |
 * |          | FAILED   | the same                                                                        |
 * | FAILED   | VERIFIED | a check finds no such record, or another key; not if DNS does not respond       |
 */
import { boolean, index, jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core'
import { createdAt, id, oneOf, timestamptz } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { workspaces } from './workspaces.ts'

export const domainStatuses = ['PENDING', 'VERIFIED', 'FAILED'] as const

/** An RSA key pair of a domain. */
export interface DomainKey {
  selector: string
  /** SPKI in Base64, as the record shows it. */
  publicKey: string
  /** PKCS #8 in PEM, sealed for the domain. */
  sealedPrivateKey: string
}

export interface DomainKeys {
  signing: DomainKey
  /** Published ahead, so that a rotation signs with a key that receivers find. */
  next: DomainKey
  /** Signed until the last rotation. Its record stays in use until `until`. */
  former: (DomainKey & { until: string }) | null
}

/** The latest result for a record. It applies while the domain still has a record with this name and value. */
export interface RecordCheck {
  name: string
  value: string
  status: (typeof domainStatuses)[number]
  /** What is wrong; null if nothing is. */
  problem: string | null
}

export const domains = tenantTable(
  'domains',
  {
    id: id('dom').notNull(),
    /** In lower case and ASCII. Other workspaces may have the same name: each verifies its own record. */
    name: text().notNull(),
    /** The host of the public pages, or null: see `hosts`. */
    host: text(),
    status: text({ enum: domainStatuses }).notNull().default('PENDING'),
    keys: jsonb().$type<DomainKeys>().notNull(),
    checks: jsonb().$type<RecordCheck[]>().notNull().default([]),
    checkedAt: timestamptz(),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      unique('domains_name_key').on(t.workspaceId, t.name),
      index('domains_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('domains_checked_index').on(t.checkedAt),
      // The owner of a name is looked up in all workspaces.
      index('domains_name_index').on(t.name),
      oneOf('domains_status_check', t.status, domainStatuses),
    ],
  },
)

/** The domains that the operator gave to a workspace. Only workspaces with the domain may send from it. */
export const senderDomains = tenantTable(
  'sender_domains',
  {
    /** In lower case. */
    domain: text().notNull(),
  },
  // A domain is looked up in all workspaces.
  { key: ['domain'], extra: (t) => [index('sender_domains_domain_index').on(t.domain)] },
)

/**
 * The hosts of public pages, each of one workspace. Without `workspace_id` in its key: the key decides who has a host.
 *
 * | a row             | when                                                                                       |
 * |-------------------|--------------------------------------------------------------------------------------------|
 * | is inserted       | a VERIFIED domain names the host, and no other one has it                                  |
 * | serves the pages  | from the first check that finds the HOST record: `verified_at`                             |
 * | is in new links   | while the domain is VERIFIED, names the host, and its HOST record is found: `is_current`   |
 * | serves old links  | afterward, also without its domain                                                         |
 * | changes hands     | another VERIFIED domain names the host, and that of the row does not, or is not VERIFIED;  |
 * |                   | or its workspace is deleted: to the last one before that lives                             |
 * | is deleted        | with its workspace, or when its domain gives it up before `verified_at`                    |
 */
export const hosts = pgTable(
  'hosts',
  {
    /** In lower case and ASCII. */
    host: text().primaryKey(),
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    domainId: id('dom').notNull(),
    verifiedAt: timestamptz(),
    isCurrent: boolean().notNull(),
    /** The workspaces that had the host before, some of which may be deleted: the links that they mailed go on. */
    formerWorkspaceIds: id('wsp').array().notNull().default([]),
    createdAt: createdAt(),
  },
  (t) => [index('hosts_workspace_index').on(t.workspaceId, t.createdAt, t.host)],
)
