/** Inserts contacts in bulk, without the API. */
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Installation, Workspace } from './installation.ts'

/** Inserts contacts with a frequent and a rare tag, a custom field, and names that repeat. */
export async function insertContacts({ client }: Installation, { ctx }: Workspace, count: number): Promise<void> {
  const workspace = uuidOf(ctx.workspaceId)
  await client.query(
    `insert into custom_fields (workspace_id, id, key, label, type) values ($1, uuidv7(), 'city', 'City', 'TEXT')`,
    [workspace],
  )
  await client.query(
    `insert into contacts (workspace_id, id, email, first_name, last_name, company, tags, custom_field_values, created_at)
     select $1, uuidv7(), 'person' || n || '@' || (array['example.com', 'mail.test', 'post.test'])[1 + n % 3],
       (array['Ada','Grace','Alan','Edsger','Barbara','Donald','Frances','John','Margaret','Niklaus'])[1 + n % 10],
       initcap(substr(md5(n::text), 1, 7)), 'Company ' || n % 5000,
       case when n % 100 = 0 then array['vip', 'all'] else array['all'] end,
       jsonb_build_object('city', 'City ' || n % 100), now() - n * interval '1 second'
     from generate_series(1, $2::int) n`,
    [workspace, count],
  )
}

/** Inserts confirmed subscribers of the list with the addresses `<name>-<n>@example.com`. */
export async function insertSubscribers(
  { client }: Installation,
  { ctx }: Workspace,
  list: { id: string; name: string; count: number },
): Promise<void> {
  await client.query(
    `with people as (
       insert into contacts (workspace_id, id, email, first_name, last_name, email_subscribed_status)
       select $1, uuidv7(), $3 || '-' || n || '@example.com', 'Person ' || n, 'Number', 'SUBSCRIBED'
       from generate_series(1, $4::int) n returning id)
     insert into subscriptions (workspace_id, list_id, contact_id, status, own_status, own_status_at, confirmed_at)
     select $1, $2, id, 'CONFIRMED', 'CONFIRMED', now(), now() from people`,
    [uuidOf(ctx.workspaceId), uuidOf(Id('lst').parse(list.id)), list.name, list.count],
  )
  await client.query('vacuum analyze')
}

/** Returns the ids of `count` random contacts. */
export async function pickContactIds({ client }: Installation, count: number): Promise<string[]> {
  const found = await client.query<{ id: string }>('select id from contacts order by random() limit $1', [count])
  return found.rows.map(({ id }) => id)
}
