import { findNewestBackup } from '@rapport/core/backups/backup-records.ts'
import { formatAge, formatBytes } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

/** A daily backup, which may take two hours. The alert has the same limit. */
const warnFromSeconds = 26 * 3_600
const advice =
  'Run "rapport backup" every day: docs/backup.md. If only your provider backs up the database, test a restore, and ignore this.'

export const backupsCheck: Check = {
  about: 'Backups',
  async run({ database }) {
    if (!database) return []
    const { ok, warn } = findingsAbout('Backups')
    const newest = await findNewestBackup(database.db)
    if (!newest) return [warn('none is recorded', advice)]
    const { ageSeconds, bytes, isEncrypted, isVerified } = newest
    const properties = `${isEncrypted ? 'encrypted' : 'not encrypted'}, ${isVerified ? 'verified' : 'not verified'}`
    const message = `the newest is ${formatAge(ageSeconds)} old: ${formatBytes(bytes)}, ${properties}`
    return [ageSeconds < warnFromSeconds ? ok(message) : warn(message, advice)]
  },
}
