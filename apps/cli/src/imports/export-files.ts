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

/**
 * Files of opt-outs come first, so that no person in them is confirmed in between. Their words count anywhere in a name,
 * the others only at its start.
 */
const statusByName: readonly (readonly [RegExp, FileStatus])[] = [
  [/(^|[^a-z])(blocklist|blacklist)/, 'OPTED_OUT'],
  [/(^|[^a-z])complain/, 'COMPLAINED'],
  [/(^|[^a-z])(cleaned|bounce)/, 'BOUNCED'],
  [/(^|[^a-z])unsubscribed/, 'UNSUBSCRIBED'],
  [/^(nonsubscribed|transactional|archived)/, 'NONE'],
  [/^(unconfirmed|pending)/, 'PENDING'],
  [/^(subscribed|confirmed)/, 'CONFIRMED'],
]
const order = statusByName.map(([, status]) => status)
const rankOf = ({ status }: ExportFile) => (status ? order.indexOf(status) : order.length)

interface Given {
  source: SourceName
  /** A file, or a folder with the files. */
  path: string
  /** Instead of that of the name. */
  status: FileStatus | undefined
}

/** Returns the files in the order in which they are imported. */
export async function findExportFiles({ source, path, status }: Given): Promise<ExportFile[]> {
  const paths = await listFiles(path)
  if (paths.length === 0)
    throw usageError(`<file>: ${path} contains no CSV file. If the export is a ZIP file, extract it`)
  const files = paths.map((one) => ({ path: one, name: basename(one), status: status ?? statusOfName(basename(one)) }))
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
