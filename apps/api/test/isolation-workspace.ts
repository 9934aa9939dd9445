/** Helpers of the isolation tests: compare the records of a workspace, and responses. */
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { ApiResponse, Json, TestApi } from './testing.ts'

/** Reads every row of the workspace, in every table. */
export async function readEverything(api: TestApi, workspaceId = ''): Promise<Json> {
  const tables = await api.query(
    `select relname as name from pg_attribute join pg_class on pg_class.oid = attrelid
     where attname = 'workspace_id' and relkind in ('r', 'p') and not relispartition
       and relnamespace = 'public'::regnamespace order by 1`,
  )
  if (tables.length <= 10) throw new Error('Expected more than 10 tables with a workspace')
  const parts = tables.map(
    ({ name }) => `select '${String(name)}' as name,
    (select coalesce(jsonb_agg(to_jsonb(t) - 'last_used_at' order by t::text), '[]') from ${String(name)} t
     where workspace_id = $1) as rows`,
  )
  const found = await api.query(parts.join(' union all '), [uuidOf(Id('wsp').parse(workspaceId))])
  return Object.fromEntries(found.map(({ name, rows }) => [String(name), rows]))
}

/** Everything in a response except what always differs. */
export function toComparable({ status, text, headers }: ApiResponse<unknown>) {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  return { status, text, headers: rest }
}
