import pg from 'pg'
import { ensureDatabase } from './embedded-postgres.ts'
import type { EmbeddedPostgres } from './embedded-postgres.ts'

const duplicateRole = '42710'

/**
 * Creates a database and the role that owns it, if they do not exist, and sets the password of the role. The role
 * cannot read files or run programs, as the superuser can. A database of an earlier version, which the superuser owns,
 * gets the new owner with all its data.
 */
export async function ensureOwnedDatabase(
  postgres: EmbeddedPostgres,
  { database, role, password }: { database: string; role: string; password: string },
): Promise<void> {
  await ensureDatabase(postgres, database)
  const client = new pg.Client({ connectionString: postgres.url(database) })
  await client.connect()
  try {
    const owner = client.escapeIdentifier(role)
    await client.query(`create role ${owner}`).catch((error: unknown) => {
      if (!(error instanceof pg.DatabaseError && error.code === duplicateRole)) throw error
    })
    const rights = 'login nosuperuser nocreatedb nocreaterole noreplication nobypassrls'
    await client.query(`alter role ${owner} ${rights} password ${client.escapeLiteral(password)}`)
    await changeOwner(client, owner)
  } finally {
    await client.end()
  }
}

/** The last statement changes the owner of the database: when it has, so have all objects. */
async function changeOwner(client: pg.Client, owner: string): Promise<void> {
  const { rows } = await client.query<{ object: string }>(objectsOfSuperuser)
  const statements = rows.map(({ object }) => `alter ${object} owner to ${owner}`)
  await client.query(['begin', ...statements, 'commit'].join(';\n'))
}

/**
 * What the superuser owns in a database that it owns, the database last. Not the members of extensions, which belong to
 * the extension, and not what always has the owner of a table: its row type and the sequences of its columns.
 * `reassign owned` would do the same, but PostgreSQL refuses it for the superuser of `initdb`.
 */
const objectsOfSuperuser = `
with own_database as (
  select datname, datdba as owner from pg_database where datname = current_database() and datdba = current_user::regrole
), dependent as (
  select classid, objid from pg_depend left join pg_class on classid = 'pg_class'::regclass and oid = objid
    where deptype = 'e' or (deptype in ('a', 'i') and relkind = 'S')
), objects (class, id, name, position) as (
  select 'pg_namespace'::regclass, oid, format('schema %I', nspname), 1
    from pg_namespace join own_database on nspowner = owner
    where nspname !~ '^pg_' and nspname <> 'information_schema'
  union all
  select 'pg_class'::regclass, oid, format('table %s', oid::regclass), 2
    from pg_class join own_database on relowner = owner
    where relkind in ('r', 'p', 'v', 'm', 'f', 'S') and oid >= 16384
  union all
  select 'pg_proc'::regclass, oid, format('routine %s', oid::regprocedure), 3
    from pg_proc join own_database on proowner = owner where oid >= 16384
  union all
  select 'pg_type'::regclass, oid, format('type %s', oid::regtype), 4
    from pg_type join own_database on typowner = owner
    where oid >= 16384 and (typtype in ('d', 'e', 'r') or (select relkind = 'c' from pg_class where oid = typrelid))
  union all
  select 'pg_database'::regclass, 0, format('database %I', datname), 5 from own_database
)
select name as object from objects where (class, id) not in (select classid, objid from dependent) order by position`
