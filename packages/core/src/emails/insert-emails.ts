/** The statements that accept emails. */
import { sql } from 'drizzle-orm'
import type { AddressedContact } from '../consent/consent-records.ts'
import { givenIds } from '../db/given-ids.ts'
import { jsonRows } from '../db/json-rows.ts'
import { emails, templates } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, json, text, uuid, type ValuesOf } from '../db/statements/sql-types.ts'
import { seal } from '../kernel/crypto.ts'
import { newId, type TemplateId, uuidOf } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { hashForQuotas, recordEmails } from '../mail/mail-quotas.ts'
import type { Ctx } from '../request/context.ts'
import {
  enqueueMany,
  enqueueParams,
  publishedUuids,
  publishEnqueued,
  toEnqueueParams,
  withPublished,
} from '../work/enqueue.ts'
import type { EmailRow } from './email-record.ts'
import type { EmailInput } from './emails.schema.ts'
import { readVersion, type TemplateContent } from './templates/template-versions.ts'

const templateColumns = {
  id: templates.id,
  name: templates.name,
  version: templates.version,
  status: templates.status,
  pauseReason: templates.pauseReason,
}
export type SendableTemplate = ValuesOf<typeof templateColumns> & { content: TemplateContent }

/** Reads the present versions of templates, which a change or deletion waits to replace until the transaction ends. */
export async function lockTemplates(ctx: Ctx, ids: readonly TemplateId[]): Promise<SendableTemplate[]> {
  const found: SendableTemplate[] = []
  // A join would read the version before the lock, and find no row if this waited for a change of the template.
  for (const template of await lockRows(ctx.db, { workspaceId: ctx.workspaceId, ids }))
    found.push({ ...template, content: await readVersion(ctx, template.id, template.version) })
  return found
}

const lockRows = namedStatement('lock templates', {
  isPrepared: true,
  params: { workspaceId: templates.workspaceId, ids: arrayOf(templates.id) },
  columns: templateColumns,
  sql: ({ workspaceId, ids }) => sql`
    select t.id, t.name, t.version, t.status, t.pause_reason
    from ${givenIds(ids)} join templates t on t.id = given.id
    where t.workspace_id = ${workspaceId}
    order by t.id for key share of t`,
})

interface Accepted {
  input: EmailInput
  template: SendableTemplate
  contact: AddressedContact
}

/** Inserts PENDING emails with their work, and counts them for the quotas. */
export async function insertEmails(ctx: Ctx, accepted: readonly Accepted[]): Promise<EmailRow[]> {
  if (accepted.length === 0) return []
  const rows = accepted.map((one) => toRow(ctx, one))
  const [inserted] = await insertAll(ctx.db, {
    ...toEnqueueParams(ctx, 'EMAIL'),
    rows: stringify(rows),
    requestIds: rows.map(() => uuidOf(newId('mai'))),
    addressHashes: accepted.map(({ contact }) => hashForQuotas(ctx, contact.email)),
  })
  publishEnqueued(ctx, 'EMAIL', inserted?.published)
  return rows
}

function toRow(ctx: Ctx, { input, template, contact }: Accepted): EmailRow {
  const id = newId('mai')
  return {
    workspaceId: ctx.workspaceId,
    id,
    templateId: template.id,
    templateVersion: template.version,
    ground: template.content.ground,
    contactId: contact.id,
    status: 'PENDING',
    sealedData: seal(ctx.settings.keys, JSON.stringify(input.data), id),
    reason: null,
    tags: input.tags,
    attempts: 0,
    token: null,
    providerMessageHash: null,
    bounceClass: null,
    bounceCode: null,
    bouncedAt: null,
    complainedAt: null,
    createdAt: timestampNow(),
    endedAt: null,
  }
}

const { names, from, stringify } = jsonRows(emails)

const insertAll = namedStatement('accept emails', {
  isPrepared: true,
  params: { ...enqueueParams, rows: json<string>(), requestIds: arrayOf(uuid), addressHashes: arrayOf(text) },
  columns: withPublished,
  sql: (param) => sql`
    with counted as (${recordEmails(param)}),
    subject as (
      insert into emails (${names}) select ${names} from ${from(param.rows, 'given')} returning id),
    ${enqueueMany(param, 'subject')}
    select ${publishedUuids}`,
})
