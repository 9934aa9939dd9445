/** The tables of the bare server: contacts as someone would keep them who has nothing else to do. */
import type pg from 'pg'

/** Whose rows the bare server reads and writes. */
export const bareWorkspace = '01890a5d-ac96-774b-bcce-b302099a8057'

/** As long as the identifiers of Rapport, and kept as it is shown. */
const newId = `'con_' || left(replace(uuidv7()::text, '-', ''), 26)`

const columns = {
  email: 'text not null',
  first_name: `text not null default ''`,
  last_name: `text not null default ''`,
  phone: 'text',
  company: 'text',
  custom_field_values: `jsonb not null default '{}'`,
  tags: `text[] not null default '{}'`,
  email_subscribed_status: `text not null default 'NONE'`,
  last_activity_at: 'timestamptz(3)',
  source: 'text',
  created_at: 'timestamptz(3) not null default now()',
  updated_at: 'timestamptz(3) not null default now()',
}

/** With the key and the unique address that nobody would do without, and the order of the listing. */
export async function createBareTables(client: pg.Client): Promise<void> {
  const list = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
  await client.query(`
    create table bare_contacts (
      workspace_id uuid not null, id text not null default ${newId}, ${list.join(', ')}, primary key (workspace_id, id));
    create unique index on bare_contacts (workspace_id, lower(email))`)
  // What the indexes alone cost that filters and search need.
  await client.query(`create table indexed_contacts (like contacts including all);
    alter table indexed_contacts alter column id set default uuidv7()`)
}

/** The contacts of Rapport once more, in the bare table. */
export async function copyToBare(client: pg.Client): Promise<void> {
  const names = Object.keys(columns).join(', ')
  await client.query(
    `insert into bare_contacts (workspace_id, id, ${names})
    select $1, 'con_' || left(replace(id::text, '-', ''), 26), ${names} from contacts`,
    [bareWorkspace],
  )
  await client.query('create index on bare_contacts (workspace_id, created_at, id)')
  await client.query('vacuum analyze')
}

/** Who this contact of Rapport is there. */
export const bareIdOf = (uuid: string) => `con_${uuid.replaceAll('-', '').slice(0, 26)}`

/** As the API shows a contact. */
export const shownColumns = ['id', ...Object.keys(columns)]
  .map((name) => `${name} as "${name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase())}"`)
  .join(', ')

/** A baseline must do as much: its answer has the same fields, and is as long but for a hundredth. */
export function mustBeAlike(ours: object, bare: object): void {
  const [ourLength, bareLength] = [JSON.stringify(ours).length, JSON.stringify(bare).length]
  const fields = (answer: object) => Object.keys(answer).toSorted().join()
  const isAlike = fields(ours) === fields(bare)
  if (!isAlike || Math.abs(ourLength - bareLength) > ourLength / 100)
    throw new Error(`The baseline answers otherwise: ${JSON.stringify([ours, bare]).slice(0, 2_000)}`)
}
