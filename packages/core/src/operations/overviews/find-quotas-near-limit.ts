/**
 * Finds workspaces whose use of a quota is near its limit. Counts all workspaces in one statement, unlike `readUsage`; a test
 * compares both. About 20 million contacts are counted in two seconds.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import type { mailBudgets } from '../../mail/budget/budgets.ts'
import { workspaces } from '../../db/schema/index.ts'
import { arrayOf, float, text, textOf } from '../../db/statements/sql-types.ts'
import { transaction } from '../../db/transaction.ts'
import { hasSqlState } from '../../db/database-errors.ts'
import type { WorkspaceId } from '../../kernel/ids.ts'
import { type QuotaName, quotaNames, type Quotas } from '../../kernel/quotas.ts'

export interface QuotaNearLimit {
  workspaceId: WorkspaceId
  name: string
  quota: QuotaName
  used: number
  limit: number
}

const count = (table: string, condition = 'true') =>
  sql.raw(`select workspace_id, count(*) from ${table} where ${condition} group by 1`)

const recordUses = { contacts: count('contacts'), companies: count('companies'), notes: count('notes') }

/**
 * Limits of the work under way in a process, or for each address or import: their use is not counted anywhere. Budgets for
 * mails of visitors have a check of their own.
 */
type Uncounted =
  | (typeof mailBudgets)[number]['quota']
  | 'exports'
  | 'requests'
  | 'importBytes'
  | 'mailsPerAddress'
  | 'emailsPerAddress'
  | 'webhookRequests'

/** The use in each workspace. A quota without its count does not compile. */
const otherUses: Record<Exclude<QuotaName, Uncounted | keyof typeof recordUses>, SQL> = {
  lists: count('lists', 'deleted_at is null'),
  forms: count('forms', 'deleted_at is null'),
  segments: count('segments'),
  pipelines: count('pipelines'),
  apiKeys: count('api_keys'),
  webhooks: count('webhooks', 'deleted_at is null'),
  domains: count('domains'),
  customFields: count('custom_fields', 'removed_at is null'),
  customFieldBytes: sql`
    select workspace_id, sum(octet_length(array_to_string(options, ''))) from custom_fields group by 1`,
  campaignBytes: sql`select workspace_id, sum(body_bytes) from campaigns group by 1`,
  imports: count('imports', `status in ('RECEIVING', 'QUEUED', 'RUNNING')`),
  campaignMails: sql`
    select workspace_id, sum(queued) from campaigns where sent_at > now() - interval '1 day' group by 1`,
  templates: count('templates'),
  emails: count('mail_requests', `kind = 'EMAIL' and created_at > now() - interval '1 day'`),
  emailsPending: sql`
    select e.workspace_id, count(*) from emails e
    join templates t on t.workspace_id = e.workspace_id and t.id = e.template_id and t.status = 'ACTIVE'
    where e.status = 'PENDING' group by 1`,
  singleMails: count('mail_requests', `kind in ('CAMPAIGN_TEST', 'INVITE') and created_at > now() - interval '1 day'`),
}

const maxFound = 20

export interface QuotasNearLimit {
  /** At most twenty, the most used first. */
  data: QuotaNearLimit[]
  /** Whether counting took longer than `timeoutMs`, so that quotas are missing. */
  isIncomplete: boolean
}

interface Threshold {
  /** 0.9: the quotas that are used by nine tenths. */
  minShare: number
  timeoutMs: number
}

/** `quotas` are those of the installation. */
export async function findQuotasNearLimit(db: Db, quotas: Quotas, threshold: Threshold): Promise<QuotasNearLimit> {
  const parts = await Promise.all(searches.map((find) => findWith(find, db, { quotas, ...threshold })))
  const data = parts.flatMap((part) => part ?? []).toSorted((a, b) => b.used / b.limit - a.used / a.limit)
  return { data: data.slice(0, maxFound), isIncomplete: parts.includes(undefined) }
}

function declareSearch(name: string, uses: Partial<Record<QuotaName, SQL>>) {
  const statements = Object.entries(uses).map(
    ([quota, use]) => sql`select ${quota}::text as quota, u.* from (${use}) as u (workspace_id, used)`,
  )
  return namedStatement(name, {
    params: { quotas: arrayOf(text), limits: arrayOf(float), minShare: float },
    columns: {
      quota: textOf<QuotaName>(),
      workspaceId: workspaces.id,
      name: workspaces.name,
      used: float,
      limit: float,
    },
    sql: ({ quotas, limits, minShare }) => sql`
      select u.quota, u.workspace_id, w.name, u.used::float8 as used, l.max as limit
      from (${sql.join(statements, sql` union all `)}) u
      join workspaces w on w.id = u.workspace_id and w.deleted_at is null
      join unnest(${quotas}, ${limits}) as d (quota, max) on d.quota = u.quota
      cross join lateral (select coalesce((w.quotas ->> u.quota)::float8, d.max)) as l (max)
      where l.max > 0 and u.used >= ${minShare} * l.max
      order by u.used / l.max desc limit ${maxFound}`,
  })
}

const searches = [
  declareSearch('find quotas near their limit of contacts', recordUses),
  declareSearch('find quotas near their limit', otherUses),
]

async function findWith(
  find: (typeof searches)[number],
  db: Db,
  { quotas, minShare, timeoutMs }: Threshold & { quotas: Quotas },
): Promise<QuotaNearLimit[] | undefined> {
  // As in the variables: 0 for no limit.
  const limits = quotaNames.map((name) => (quotas[name] === Infinity ? 0 : quotas[name]))
  try {
    return await transaction(db, (db) => find(db, { quotas: quotaNames, limits, minShare }), {
      statement_timeout: String(timeoutMs),
    })
  } catch (error) {
    // query_canceled
    if (hasSqlState(error, ['57014'])) return undefined
    throw error
  }
}
