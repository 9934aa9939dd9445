/** The files that another system has exported, and what their names say about all people in them. */
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { SourceName } from '@rapport/core/imports/columns/sources.ts'
import { usageError } from '../command.ts'
import type { FileStatus } from './source-words.ts'
import { unreadable } from './upload-file.ts'

export interface ExportFile {
  path: string
  name: string
  /** Of all rows, in addition to what a row says. */
  status: FileStatus | undefined
}

/** The words of opt-outs count anywhere in a name, the others only at its start. */
const statusByName: readonly (readonly [RegExp, FileStatus])[] = [
  [/(^|[^a-z])(blocklist|blacklist)/, 'OPTED_OUT'],
  [/(^|[^a-z])complain/, 'COMPLAINED'],
  [/(^|[^a-z])(cleaned|bounce)/, 'BOUNCED'],
  [/(^|[^a-z])unsubscribed/, 'UNSUBSCRIBED'],
  [/^(nonsubscribed|transactional|archived)/, 'NONE'],
  [/^(unconfirmed|pending)/, 'PENDING'],
  [/^(subscribed|confirmed)/, 'CONFIRMED'],
]

/**
 * What only the person can revert comes first, then what holds for every list. The files are imported in this order, so
 * that no person in a file of opt-outs is confirmed in between.
 */
const strictest: readonly (FileStatus | undefined)[] = [
  'COMPLAINED',
  'OPTED_OUT',
  'MANUAL',
  'BOUNCED',
  'UNSUBSCRIBED',
  'NONE',
  'PENDING',
  'CONFIRMED',
  undefined,
]
const rankOf = ({ status }: ExportFile) => strictest.indexOf(status)

interface Given {
  source: SourceName
  /** A file, or a folder with the files. */
  path: string
  /** In addition to that of a name: the stricter one counts. */
  status: FileStatus | undefined
}

/** Returns the files in the order in which they are imported. */
export async function findExportFiles({ source, path, status }: Given): Promise<ExportFile[]> {
  const paths = await listFiles(path)
  if (paths.length === 0)
    throw usageError(`<file>: ${path} contains no CSV file. If the export is a ZIP file, extract it`)
  const files = paths.map((one) => {
    const name = basename(one)
    const statuses = [status, statusOfName(name)]
    return { path: one, name, status: strictest.find((strict) => statuses.includes(strict)) }
  })
  const unclear = files.find((file) => source === 'mailchimp' && file.status === undefined)
  if (unclear)
    throw usageError(
      `<file>: the name ${unclear.name} does not say who is in it. Mailchimp names its files subscribed_…, unsubscribed_…, cleaned_… and nonsubscribed_…: rename it, or give --status`,
    )
  return files.toSorted((one, other) => rankOf(one) - rankOf(other) || one.name.localeCompare(other.name))
}

function statusOfName(name: string): FileStatus | undefined {
  return statusByName.find(([pattern]) => pattern.test(name.toLowerCase()))?.[1]
}

async function listFiles(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const names = await readdir(path)
    return names.filter((name) => /^[^.].*\.csv$/i.test(name)).map((name) => join(path, name))
  } catch (error) {
    throw unreadable(path, error)
  }
}
