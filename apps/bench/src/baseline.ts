/** The tables of the bare server, which store contacts and nothing else. */
import type pg from 'pg'

/** The workspace of all rows that the bare server reads and writes. */
export const bareWorkspace = '01890a5d-ac96-774b-bcce-b302099a8057'

/** As long as the ids of Rapport, but stored as text. */
const newId = `'con_' || left(replace(uuidv7()::text, '-', ''), 26)`

const columns = {
  email: 'text not null',
  external_id: 'text',
  first_name: `text not null default ''`,
  last_name: `text not null default ''`,
  phone: 'text',
  company: 'text',
  custom_field_values: `jsonb not null default '{}'`,
  tags: `text[] not null default '{}'`,
  email_subscribed_status: `text not null default 'NONE'`,
  last_activity_at: 'timestamptz(3)',
  source: 'text',
  locale: 'text',
  company_id: 'text',
  created_at: 'timestamptz(3) not null default now()',
  updated_at: 'timestamptz(3) not null default now()',
}

/** Creates a table with only the essential indexes (primary key, unique email), and one with all indexes of Rapport. */
export async function createBareTables(client: pg.Client): Promise<void> {
  const list = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
  await client.query(`
    create table bare_contacts (
      workspace_id uuid not null, id text not null default ${newId}, ${list.join(', ')}, primary key (workspace_id, id));
    create unique index on bare_contacts (workspace_id, lower(email))`)
  // Shows the cost of the indexes for filters and search.
  await client.query(`create table indexed_contacts (like contacts including all);
    alter table indexed_contacts alter column id set default uuidv7()`)
}

/** Copies the contacts of Rapport to the bare table. */
export async function copyContactsToBare(client: pg.Client): Promise<void> {
  const names = Object.keys(columns).join(', ')
  await client.query(
    `insert into bare_contacts (workspace_id, id, ${names})
    select $1, 'con_' || left(replace(id::text, '-', ''), 26), ${names} from contacts`,
    [bareWorkspace],
  )
  await client.query('create index on bare_contacts (workspace_id, created_at, id)')
  await client.query('vacuum analyze')
}

/** Returns the id of a copied contact. */
export const toBareId = (uuid: string) => `con_${uuid.replaceAll('-', '').slice(0, 26)}`

/** The columns with the field names of the API. */
export const responseColumns = ['id', ...Object.keys(columns)]
  .map((name) => `${name} as "${name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase())}"`)
  .join(', ')

/** Checks that both responses have the same fields, and the same length with a tolerance of one percent. */
export function assertSameShape(ours: object, bare: object): void {
  const [ourLength, bareLength] = [JSON.stringify(ours).length, JSON.stringify(bare).length]
  const fields = (response: object) => Object.keys(response).toSorted().join()
  const hasSameFields = fields(ours) === fields(bare)
  if (!hasSameFields || Math.abs(ourLength - bareLength) > ourLength / 100)
    throw new Error(`The response of the baseline differs: ${JSON.stringify([ours, bare]).slice(0, 2_000)}`)
}
