/** The names of backups in their folder, and the files that later backups remove. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Timestamp } from '@rapport/core/kernel/values/timestamps.ts'

/** After the name of the database. */
const ownName = /^(\d{8}T\d{6}Z)\.dump(\.age)?(\.partial)?$/

/** "20270131T040000Z": in the order of time. */
const formatTime = (time: Timestamp) => time.replaceAll(/[-:]|\.\d+/g, '')

/** "rapport-20270131T040000Z.dump". The name of a database may contain characters that the name of a file may not. */
export const backupName = (database: string, createdAt: Timestamp, { isEncrypted }: { isEncrypted: boolean }) =>
  `${encodeURIComponent(database)}-${formatTime(createdAt)}.dump${isEncrypted ? '.age' : ''}`

/** The name of a file until it is complete and, on request, verified. */
export const partialName = (name: string) => `${name}.partial`

/** Removes what killed or unverified backups have left behind. No other backup of the database may be running. */
export const removeLeftovers = (directory: string, database: string) =>
  removeOwnFiles({ directory, database }, (name) => name.endsWith(partialName('')))

/** Removes the backups of this database from before this time. Returns their names. */
export function removeExpired(
  directory: string,
  database: string,
  { before }: { before: Timestamp },
): Promise<string[]> {
  const limit = formatTime(before)
  return removeOwnFiles({ directory, database }, (_name, createdAt) => createdAt < limit)
}

async function removeOwnFiles(
  { directory, database }: { directory: string; database: string },
  shouldRemove: (name: string, createdAt: string) => boolean,
): Promise<string[]> {
  const prefix = `${encodeURIComponent(database)}-`
  const entries = await readdir(directory, { withFileTypes: true })
  const removed = entries.flatMap((entry) => {
    const { name } = entry
    const [, createdAt] = (name.startsWith(prefix) && entry.isFile() && ownName.exec(name.slice(prefix.length))) || []
    return createdAt !== undefined && shouldRemove(name, createdAt) ? [name] : []
  })
  for (const name of removed) await rm(join(directory, name), { force: true })
  return removed
}
