import pg from 'pg'
import { ensureDatabase } from './embedded-postgres.ts'
import type { EmbeddedPostgres } from './embedded-postgres.ts'

const duplicateRole = '42710'

/**
 * Creates a database and the role that owns it, if they do not exist, and sets the password of the role. The role
 * cannot read files or run programs, as the superuser can.
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
    await client.query(`alter database ${client.escapeIdentifier(database)} owner to ${owner}`)
  } finally {
    await client.end()
  }
}
