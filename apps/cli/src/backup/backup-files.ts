/** The names of backups in their folder, and the files that later backups remove. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** After the name of the database. Former names contained a checksum, or ended with ".unverified". */
const ownName = /^(\d{8}T\d{6}Z)(-[0-9a-f]{16})?\.dump(\.age)?(\.partial|\.unverified)?$/

/** "rapport-20270131T040000Z.dump". The name of a database may contain characters that the name of a file may not. */
export const backupName = (database: string, createdAt: Date, { isEncrypted }: { isEncrypted: boolean }) =>
  `${encodeURIComponent(database)}-${createdAt.toISOString().replaceAll(/[-:]|\.\d+/g, '')}.dump${isEncrypted ? '.age' : ''}`

/** The name of a file until it is complete and, on request, verified. */
export const partialName = (name: string) => `${name}.partial`

/** Removes what backups that were killed, or not verified, have left behind. No other backup of the database may be running. */
export async function removeLeftovers(directory: string, database: string): Promise<void> {
  for (const { name } of await listOwnFiles(directory, database))
    if (name.endsWith(partialName(''))) await rm(join(directory, name), { force: true })
}

/** Removes the backups of this database that are older than the newest one, `keep`, by these days. Returns their names. */
export async function removeExpired(
  { directory, session: { database } }: { directory: string; session: { database: string } },
  { keep, days }: { keep: string; days: number },
): Promise<string[]> {
  const files = await listOwnFiles(directory, database)
  const newest = files.find(({ name }) => name === keep)
  const expired = files.filter(
    ({ name, createdAt }) => newest && name !== keep && createdAt < newest.createdAt - days * 86_400_000,
  )
  for (const { name } of expired) await rm(join(directory, name), { force: true })
  return expired.map(({ name }) => name)
}

/** The files in the folder that a backup of this database has created. */
async function listOwnFiles(directory: string, database: string): Promise<{ name: string; createdAt: number }[]> {
  const prefix = `${encodeURIComponent(database)}-`
  const entries = await readdir(directory, { withFileTypes: true })
  return entries.flatMap((entry) => {
    const { name } = entry
    const [, time] = (name.startsWith(prefix) && entry.isFile() && ownName.exec(name.slice(prefix.length))) || []
    if (time === undefined) return []
    return [{ name, createdAt: Date.parse(time.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5')) }]
  })
}
